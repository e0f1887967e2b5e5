// SPDX-License-Identifier: Apache-2.0
// Random programs against a model of what every slot's value must be, all invariants checked as they go.
#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

#include "tests/machine/model_shell.h"
#include "tests/machine/random_policy.h"

namespace regrow::machine {
namespace {

struct Settings {
  std::uint64_t seed = 0;
  int steps = 0;
  int devices = 1;
  std::size_t most_live = 12;
  std::size_t least_ghosts = 20'000;
  std::size_t largest = 3 * granule;
  int check_every = 1;
  int budgets_per_mille = 0;
  std::size_t memory = 0;            // of the system
  bool recomputations_fail = false;  // one in eight
  bool reads_fail = false;           // likewise: what is swapped out may be lost
  bool pages_fail = false;           // one in four: the system refuses them
  bool evicts = false;               // by a policy that names any victim
  bool spills = false;               // most of the time: what goes may be written out
  bool writes_fail = false;          // one in three
  bool ahead = false;                // transfers before there is need, that end some time
};

class RandomProgram {
 public:
  explicit RandomProgram(const Settings& settings)
      : settings_(settings), random_(settings.seed),
        policy_(settings.seed), shell_({.devices = settings.devices, .memory_bytes = settings.memory,
                                        .least_ghosts = settings.least_ghosts, .policy = settings.evicts ? &policy_ : nullptr}) {
    shell_.keep_record = false;
    if (settings.recomputations_fail) {
      shell_.regrow_error = [this] { return draw(8) == 0 ? next_error() : 0; };
    }
    if (settings_.reads_fail) shell_.read_error = [this] { return draw(8) == 0 ? next_error() : 0; };
    if (settings_.writes_fail) shell_.write_error = [this] { return !writes_succeed_ && draw(3) == 0 ? next_error() : 0; };
    if (settings_.spills) shell_.set_spill(true, draw(3) * granule);
    if (settings_.ahead) shell_.begin_error = [this] { return draw(8) == 0; };
    if (settings_.pages_fail) shell_.refuse_pages = [this] { return draw(4) == 0 && ++refused_pages_ > 0; };
  }

  std::uint64_t run() {
    for (step_ = 0; step_ < settings_.steps; ++step_) {
      step();
      learn_errors();
      if (step_ % settings_.check_every == 0) shell_.machine.check();
    }
    for (int device = 0; device < settings_.devices; ++device) shell_.set_budget(0, static_cast<std::uint8_t>(device));
    shell_.machine.check();
    shell_.refuse_pages = nullptr;
    for (Slot slot : live_) expect(slot);
    shell_.regrow_error = nullptr;
    shell_.machine.check();
    while (!exported_.empty()) unexport();
    while (!live_.empty()) del(live_.front());
    shell_.machine.check();
    const Counters& counters = shell_.machine.counters();
    if (counters.live + counters.ghosts + counters.recipes != 0) throw std::logic_error("something is left in the end");
    if (shell_.machine.usage(0).live_bytes + shell_.swapped() != 0) throw std::logic_error("bytes are left in the end");
    return shell_.action_hash;
  }
  int step_number() const { return step_; }
  const Counters& counters() const { return shell_.machine.counters(); }
  std::uint64_t refusals() const { return refusals_; }
  std::uint64_t plans() const { return plans_; }
  std::uint64_t refused_pages() const { return refused_pages_; }

 private:
  struct Tensor {
    Value value = 0;
    ErrorId error = 0;
    std::uint8_t device = 0;
    std::size_t bytes = 0;  // of its storage
  };

  std::uint64_t draw(std::uint64_t below) { return random_() % below; }
  bool chance(unsigned per_mille) { return draw(1000) < per_mille; }
  Slot some() { return live_[draw(live_.size())]; }
  std::uint8_t some_device() { return static_cast<std::uint8_t>(draw(static_cast<std::uint64_t>(settings_.devices))); }

  std::size_t some_size() {
    const std::uint64_t kind = draw(16);
    if (kind == 0) return 0;
    if (kind < 8) return 1 + draw(2000);
    if (kind < 12) return granule * (1 + draw(settings_.largest / granule));
    return 1 + draw(settings_.largest);
  }

  Slot new_slot(const Tensor& tensor) {
    Slot slot = static_cast<Slot>(tensors_.size());
    if (free_.empty()) {
      tensors_.emplace_back();
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    tensors_[slot] = tensor;
    live_.push_back(slot);
    return slot;
  }
  void forget(Slot slot) {
    live_.erase(std::find(live_.begin(), live_.end(), slot));
    free_.push_back(slot);
  }

  // A recomputation that fails may poison anything that is not resident: what is not poisoned must be right all the same.
  void learn_errors() {
    if (!settings_.recomputations_fail && !settings_.reads_fail) return;
    for (Slot slot : live_) tensors_[slot].error = shell_.machine.error_of(slot);
  }

  void expect_error(Slot slot) {
    learn_errors();
    if (tensors_[slot].error != shell_.machine.error_of(slot)) throw std::logic_error("the wrong error, or none");
  }

  void expect(Slot slot) {
    expect_error(slot);
    if (tensors_[slot].error != 0) return;
    const auto refuse_pages = shell_.refuse_pages;
    bool found = expect_value(slot);
    shell_.refuse_pages = nullptr;
    if (!found && shell_.no_pages) found = expect_value(slot);
    if (!found) expect_value_in_larger_budgets(slot);
    shell_.refuse_pages = refuse_pages;
    expect_error(slot);
  }

  bool expect_value(Slot slot) {
    const std::vector<std::size_t> before = standing();
    const std::uint64_t before_it = disturbances();
    for (int device = 0; device < settings_.devices; ++device) shell_.machine.reset_peak(static_cast<std::uint8_t>(device));
    const bool planned = shell_.machine.residency(slot) != Residency::resident;
    const bool found = shell_.fetch(slot, tensors_[slot].value);
    if (before_it != disturbances()) return found;
    if (found && planned && shell_.machine.error_of(slot) == 0) expect_peaks();
    if (!settings_.evicts && !settings_.reads_fail && !found && before != standing()) throw std::logic_error("a refused fetch left traces");
    return found;
  }

  void expect_value_in_larger_budgets(Slot slot) {
    ++refusals_;
    expect_refusal_was_due();
    const bool before = std::exchange(writes_succeed_, true);
    for_sure_in_larger_budgets(slot);
    writes_succeed_ = before;
  }

  // With spilling, nothing is refused that would fit if all but what is pinned were written out.
  void expect_refusal_was_due() {
    if (!shell_.machine.spills() || settings_.writes_fail || shell_.no_pages) return;
    const Usage usage = shell_.machine.usage(shell_.refusing_device);
    if (shell_.smallest <= usage.budget_bytes) throw std::logic_error("refused in a budget that suffices");
  }

  void for_sure_in_larger_budgets(Slot slot) {
    for (int attempt = 0; attempt < settings_.devices; ++attempt) {
      if (beyond_the_system()) return;
      shell_.set_budget(shell_.smallest, shell_.refusing_device);
      if (shell_.machine.refused() != 0) throw std::logic_error("a budget that suffices is refused");
      if (shell_.fetch(slot, tensors_[slot].value)) return;
    }
    throw std::logic_error("refused in a budget that was said to suffice");
  }

  // No budget helps where the system has not that much.
  bool beyond_the_system() const { return settings_.memory > 0 && shell_.smallest > settings_.memory; }

  // What makes the outcome of a command another than that of the plan it began with.
  std::uint64_t disturbances() const {
    const Counters& counters = shell_.machine.counters();
    return counters.cuts + counters.evicted;
  }

  void expect_peaks() {
    if (settings_.evicts) return;  // ghosts may stay
    if (settings_.reads_fail || settings_.pages_fail) return;  // plans may be made anew
    ++plans_;
    for (int device = 0; device < settings_.devices; ++device) {
      const auto d = static_cast<std::uint8_t>(device);
      if (shell_.machine.usage(d).peak_bytes != shell_.machine.last_plan(d).peak_bytes) {
        throw std::logic_error("the peak of a plan was predicted wrongly");
      }
    }
  }

  std::vector<std::size_t> standing() const {
    std::vector<std::size_t> bytes;
    for (int device = 0; device < settings_.devices; ++device) {
      const Usage usage = shell_.machine.usage(static_cast<std::uint8_t>(device));
      bytes.push_back(usage.live_bytes);
      bytes.push_back(usage.swapped_bytes);
    }
    return bytes;
  }

  void put() {
    const std::size_t bytes = some_size();
    const Slot slot = new_slot({.value = bytes > 0 ? random_() : 0, .device = some_device(), .bytes = bytes});
    Tensor& tensor = tensors_[slot];
    if (chance(100)) {
      tensor.value |= 1;
      shell_.put_foreign(slot, bytes, tensor.value, tensor.device);
      return;
    }
    shell_.fill_error = chance(20) ? next_error() : 0;
    shell_.put(slot, bytes, tensor.value, tensor.device);
    tensor.error = shell_.refused ? shell_.refusal_error : shell_.fill_error;
    if (shell_.refused) ++refusals_, expect_refusal_was_due();
  }

  void del(Slot slot) {
    forget(slot);
    shell_.del(slot);
  }

  ErrorId next_error() { return ++errors_; }

  struct Drawn {
    ApplySpec spec;
    std::vector<Slot> inputs, deletes;
    std::vector<OutputSpec> outputs;
    ErrorId run_error = 0;
  };

  void draw_operation(Drawn& drawn) {
    ApplySpec& spec = drawn.spec;
    spec.payload = payloads_++;
    spec.device = some_device();
    const std::size_t inputs = draw(4);
    for (std::size_t i = 0; i < inputs && !live_.empty(); ++i) drawn.inputs.push_back(some());
    bool local = true;
    for (Slot slot : drawn.inputs) local = local && tensors_[slot].device == spec.device;
    spec.replayable = local && !chance(30);
    spec.fallible = chance(80);
    spec.state = chance(60);
    spec.measure = chance(50);
    spec.workspace = chance(200) ? draw(2 * granule) : 0;
    if (chance(600)) {
      for (Slot slot : drawn.inputs) {
        if (chance(500) && std::find(drawn.deletes.begin(), drawn.deletes.end(), slot) == drawn.deletes.end()) {
          drawn.deletes.push_back(slot);
        }
      }
      if (chance(50) && !live_.empty()) {
        const Slot slot = some();
        if (std::find(drawn.deletes.begin(), drawn.deletes.end(), slot) == drawn.deletes.end()) drawn.deletes.push_back(slot);
      }
    }
    if (spec.fallible && chance(300)) drawn.run_error = next_error();
  }

  void draw_outputs(Drawn& drawn) {
    const std::size_t outputs = chance(30) ? 0 : 1 + (chance(200) ? draw(3) : 0);
    for (std::size_t k = 0; k < outputs; ++k) {
      OutputSpec output;
      output.bytes = some_size();
      if (!drawn.inputs.empty() && chance(100)) {
        output.view_of = static_cast<int>(draw(drawn.inputs.size()));
        output.bytes = 0;
      } else if (!drawn.inputs.empty() && chance(600)) {
        const std::size_t i = draw(drawn.inputs.size());
        output.bytes = tensors_[drawn.inputs[i]].bytes;
        for (std::size_t j = 0; j < drawn.inputs.size(); ++j) {
          if (tensors_[drawn.inputs[j]].bytes == output.bytes) output.reuse |= 1u << j;
        }
      }
      drawn.outputs.push_back(output);
    }
    std::vector<Value> values;
    ErrorId error = 0;
    for (Slot slot : drawn.inputs) {
      values.push_back(tensors_[slot].value);
      if (error == 0) error = tensors_[slot].error;
    }
    const bool views_only = !drawn.outputs.empty() &&
                            std::all_of(drawn.outputs.begin(), drawn.outputs.end(), [](const auto& o) { return o.view_of >= 0; });
    if (drawn.spec.measure && error == 0 && chance(50)) error = shell_.measure_error = next_error();
    if (error == 0 && !views_only) error = drawn.run_error;
    for (std::size_t k = 0; k < drawn.outputs.size(); ++k) {
      OutputSpec& output = drawn.outputs[k];
      Tensor tensor = {.value = output.bytes > 0 ? kernel(drawn.spec.payload, k, values) : 0, .error = error,
                       .device = drawn.spec.device, .bytes = output.bytes};
      if (output.view_of >= 0) {
        tensor = tensors_[drawn.inputs[static_cast<std::size_t>(output.view_of)]];
        tensor.error = error;
      }
      output.slot = new_slot(tensor);
    }
  }

  void issue(Drawn& drawn) {
    drawn.spec.inputs = drawn.inputs;
    drawn.spec.outputs = drawn.outputs;
    drawn.spec.deletes = drawn.deletes;
    std::vector<OutputSpec> unsized = drawn.outputs;
    if (drawn.spec.measure) {
      shell_.sizes.clear();
      for (OutputSpec& output : unsized) shell_.sizes.push_back(std::exchange(output.bytes, 0));
      drawn.spec.outputs = unsized;
    }
    shell_.run_errors.clear();
    if (drawn.run_error != 0) shell_.run_errors[drawn.spec.payload] = drawn.run_error;
    shell_.apply(drawn.spec);
    shell_.measure_error = 0;
    shell_.run_errors.clear();
  }

  void apply() {
    Drawn drawn;
    draw_operation(drawn);
    draw_outputs(drawn);
    if (!drawn.outputs.empty() && chance(30)) drawn.deletes.push_back(drawn.outputs.front().slot);
    const std::vector<std::size_t> before = standing();
    const std::uint64_t before_it = disturbances();
    issue(drawn);
    for (Slot slot : drawn.deletes) forget(slot);
    if (!shell_.refused) return;
    ++refusals_;
    if (!drawn.spec.measure) expect_refusal_was_due();
    const bool unchanged = !settings_.evicts && !settings_.reads_fail && drawn.deletes.empty() && before_it == disturbances();
    if (unchanged && before != standing()) {
      throw std::logic_error("a refused operation left traces");
    }
    for (const OutputSpec& output : drawn.outputs) tensors_[output.slot].error = shell_.refusal_error;
    if (drawn.deletes.empty() && !shell_.no_pages) repeat(drawn);
  }

  // In the budget that the refusal named, the same operation is not refused again.
  void repeat(Drawn& drawn) {
    const auto refuse_pages = std::exchange(shell_.refuse_pages, nullptr);
    const bool before = std::exchange(writes_succeed_, true);
    repeat_in_larger_budgets(drawn);
    writes_succeed_ = before;
    shell_.refuse_pages = refuse_pages;
  }

  void repeat_in_larger_budgets(Drawn& drawn) {
    for (int attempt = 0; attempt < settings_.devices + 1; ++attempt) {
      if (beyond_the_system()) return;
      shell_.set_budget(shell_.smallest, shell_.refusing_device);
      if (shell_.machine.refused() != 0) throw std::logic_error("a budget that suffices is refused");
      drawn.spec.payload = payloads_++;
      const std::size_t before = live_.size();
      std::vector<Value> values;
      for (Slot slot : drawn.inputs) values.push_back(tensors_[slot].value);
      for (std::size_t k = 0; k < drawn.outputs.size(); ++k) {
        OutputSpec& output = drawn.outputs[k];
        Tensor tensor = tensors_[output.slot];
        if (output.view_of < 0 && output.bytes > 0) tensor.value = kernel(drawn.spec.payload, k, values);
        tensor.error = drawn.run_error;
        output.slot = new_slot(tensor);
      }
      issue(drawn);
      if (!shell_.refused) return;
      for (std::size_t i = before; i < live_.size(); ++i) tensors_[live_[i]].error = shell_.refusal_error;
      if (drawn.spec.measure && attempt == 0) continue;  // its sizes were not known yet
    }
    throw std::logic_error("an operation is refused in a budget that was said to suffice");
  }

  void apply_failed() {
    const ErrorId error = next_error();
    std::vector<Slot> outputs = {new_slot({.error = error})};
    std::vector<Slot> deletes;
    if (live_.size() > 1) deletes.push_back(live_.front());
    shell_.machine.apply_failed(outputs, deletes, error);
    shell_.carry_out();
    for (Slot slot : deletes) forget(slot);
  }

  void export_one() {
    const Slot slot = some();
    expect(slot);
    if (tensors_[slot].error != 0) return;
    exported_.push_back(shell_.machine.operand(slot).storage);
    shell_.machine.export_storage(slot);
    shell_.carry_out();
  }
  void unexport() {
    const StorageId storage = exported_.back();
    exported_.pop_back();
    shell_.unexport(storage);
  }

  void change_budget() {
    const std::uint8_t device = some_device();
    const std::size_t live = shell_.machine.usage(device).live_bytes;
    if (settings_.spills) {
      const std::size_t granules = live * (200 + draw(1200)) / 1000 / granule + 3 + draw(8);
      return shell_.set_budget(chance(100) ? 0 : granules * granule, device);
    }
    shell_.set_budget(chance(100) ? 0 : (live * (800 + draw(700)) / 1000 / granule + 1 + draw(4)) * granule, device);
  }

  void look_ahead() {
    if (chance(500)) {
      std::vector<Slot> soon;
      for (std::uint64_t k = draw(4); k-- > 0 && !live_.empty();) soon.push_back(some());
      shell_.look_ahead(soon);
    }
    if (shell_.transfers() > 0 && chance(300)) shell_.end_transfer(draw(shell_.transfers()));
  }

  void step() {
    if (settings_.ahead) look_ahead();
    if (live_.size() > settings_.most_live && chance(700)) return del(some());
    if (settings_.budgets_per_mille > 0 && chance(static_cast<unsigned>(settings_.budgets_per_mille))) return change_budget();
    if (live_.empty()) return put();
    const std::uint64_t kind = draw(1000);
    if (kind < 600) return apply();
    if (kind < 680) return put();
    if (kind < 760) return del(some());
    if (kind < 850) return shell_.drop(some());
    if (kind < 880) return shell_.swap_out(some());
    if (kind < 900) return shell_.swap_in(some());
    if (kind < 970) return expect(some());
    if (kind < 980) return exported_.empty() || chance(400) ? export_one() : unexport();
    if (kind < 985) return apply_failed();
    if (kind < 988 && settings_.spills) return shell_.set_spill(chance(800), draw(3) * granule);
    if (kind < 990) {
      recording_ = chance(700);
      return shell_.machine.set_recording(recording_);
    }
    return put();
  }

  Settings settings_;
  std::mt19937_64 random_;
  RandomPolicy policy_;
  ModelShell shell_;
  std::vector<Tensor> tensors_;
  std::vector<Slot> live_, free_;
  std::vector<StorageId> exported_;
  Payload payloads_ = 1;
  ErrorId errors_ = 1'000'000;
  std::uint64_t refusals_ = 0, plans_ = 0, refused_pages_ = 0;
  int step_ = 0;
  bool recording_ = true, writes_succeed_ = false;
};

struct Outcome : Counters {
  std::uint64_t refusals = 0, plans = 0, refused_pages = 0;
};

Outcome run_program(const Settings& settings) {
  RandomProgram program(settings);
  try {
    program.run();
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what() << " (seed " << settings.seed << ", step " << program.step_number() << ")";
  }
  return {program.counters(), program.refusals(), program.plans(), program.refused_pages()};
}

TEST(MachineRandom, SmallProgramsKeepEveryInvariantAfterEachStep) {
  std::uint64_t recomputed = 0, in_place = 0, cuts = 0, swapped = 0, plans = 0;
  for (std::uint64_t seed = 1; seed <= 2000 && !HasFailure(); ++seed) {
    const Outcome outcome = run_program({.seed = seed, .steps = 200});
    recomputed += outcome.recomputed, in_place += outcome.in_place, cuts += outcome.cuts, swapped += outcome.swapped_in;
    plans += outcome.plans;
  }
  EXPECT_GT(plans, 1000u);
  EXPECT_GT(recomputed, 1000u);
  EXPECT_GT(in_place, 1000u);
  EXPECT_GT(cuts, 1000u);
  EXPECT_GT(swapped, 1000u);
}

TEST(MachineRandom, BudgetsAreKeptAndRefusalsSayWhatSuffices) {
  std::uint64_t refusals = 0;
  for (std::uint64_t seed = 1; seed <= 2000 && !HasFailure(); ++seed) {
    refusals += run_program({.seed = seed, .steps = 200, .devices = 1 + static_cast<int>(seed % 2), .budgets_per_mille = 50}).refusals;
  }
  EXPECT_GT(refusals, 1000u);
}

TEST(MachineRandom, TheMemoryOfTheSystemIsALimitToo) {
  std::uint64_t refusals = 0;
  for (std::uint64_t seed = 1; seed <= 1000 && !HasFailure(); ++seed) {
    refusals += run_program({.seed = seed, .steps = 200, .devices = 1 + static_cast<int>(seed % 2),
                             .budgets_per_mille = static_cast<int>(seed % 3) * 5, .memory = 24 * granule}).refusals;
  }
  EXPECT_GT(refusals, 1000u);
}

TEST(MachineRandom, WhateverIsEvictedComesBack) {
  std::uint64_t evicted = 0, recomputed = 0, refusals = 0, bounded = 0;
  for (std::uint64_t seed = 1; seed <= 3000 && !HasFailure(); ++seed) {
    const Outcome outcome = run_program({.seed = seed, .steps = 200, .devices = 1 + static_cast<int>(seed % 2), .most_live = 8 + seed % 16,
                                         .least_ghosts = seed % 5 == 0 ? 3u : 20'000u, .budgets_per_mille = 40, .evicts = true});
    evicted += outcome.evicted, recomputed += outcome.recomputed, refusals += outcome.refusals, bounded += outcome.bounded_plans;
  }
  EXPECT_GT(evicted, 10'000u);
  EXPECT_GT(recomputed, 10'000u);
  EXPECT_GT(refusals, 1000u);
  EXPECT_GT(bounded, 100u);
}

TEST(MachineRandom, WhateverIsWrittenOutComesBackAndNothingIsRefusedThatFits) {
  std::uint64_t evicted = 0, written = 0, read = 0, recomputed = 0, refusals = 0, bounded = 0;
  for (std::uint64_t seed = 1; seed <= 3000 && !HasFailure(); ++seed) {
    const Outcome outcome = run_program({.seed = seed, .steps = 200, .devices = 1 + static_cast<int>(seed % 2), .most_live = 8 + seed % 16,
                                         .least_ghosts = seed % 5 == 0 ? 3u : 20'000u, .budgets_per_mille = 40, .evicts = true,
                                         .spills = true});
    evicted += outcome.evicted, recomputed += outcome.recomputed, refusals += outcome.refusals, bounded += outcome.bounded_plans;
    written += outcome.written, read += outcome.swapped_in;
  }
  EXPECT_GT(evicted, 10'000u);
  EXPECT_GT(written, 10'000u);
  EXPECT_GT(read, 10'000u);
  EXPECT_GT(evicted, written) << "what has a copy goes for nothing";
  EXPECT_GT(recomputed, 10'000u);
  EXPECT_GT(refusals, 1000u);
  EXPECT_GT(bounded, 100u);
}

TEST(MachineRandom, TransfersAheadOfNeedChangeNoValue) {
  std::uint64_t written = 0, read = 0, refusals = 0;
  for (std::uint64_t seed = 1; seed <= 3000 && !HasFailure(); ++seed) {
    const Outcome outcome = run_program({.seed = seed, .steps = 200, .devices = 1 + static_cast<int>(seed % 2), .most_live = 8 + seed % 16,
                                         .least_ghosts = seed % 5 == 0 ? 3u : 20'000u, .budgets_per_mille = 40,
                                         .reads_fail = seed % 3 == 0, .pages_fail = seed % 7 == 0, .evicts = true, .spills = true,
                                         .writes_fail = seed % 4 == 0, .ahead = true});
    written += outcome.written_ahead, read += outcome.read_ahead, refusals += outcome.refusals;
  }
  EXPECT_GT(written, 10'000u);
  EXPECT_GT(read, 5'000u);
  EXPECT_GT(refusals, 1000u);
}

TEST(MachineRandom, WhereWritesAndReadsFailTheRestStaysRight) {
  for (std::uint64_t seed = 1; seed <= 2000 && !HasFailure(); ++seed) {
    run_program({.seed = seed, .steps = 200, .devices = 1 + static_cast<int>(seed % 2), .budgets_per_mille = 40,
                 .recomputations_fail = seed % 7 == 0, .reads_fail = seed % 3 != 0, .pages_fail = seed % 5 == 0, .evicts = true,
                 .spills = true, .writes_fail = seed % 3 != 1});
  }
}

TEST(MachineRandom, EvictionsAndRecomputationsThatFail) {
  for (std::uint64_t seed = 1; seed <= 1000 && !HasFailure(); ++seed) {
    run_program({.seed = seed, .steps = 200, .budgets_per_mille = 40, .recomputations_fail = true, .evicts = true});
  }
}

TEST(MachineRandom, FewGhostsAreAllowed) {
  for (std::uint64_t seed = 1; seed <= 1000 && !HasFailure(); ++seed) {
    run_program({.seed = seed, .steps = 200, .most_live = 4, .least_ghosts = 3, .budgets_per_mille = static_cast<int>(seed % 2) * 20});
  }
}

TEST(MachineRandom, WhereRecomputationsFailTheRestStaysRight) {
  for (std::uint64_t seed = 1; seed <= 1000 && !HasFailure(); ++seed) {
    run_program({.seed = seed, .steps = 200, .devices = 1 + static_cast<int>(seed % 2),
                 .budgets_per_mille = static_cast<int>(seed % 3) * 15, .recomputations_fail = true});
  }
}

TEST(MachineRandom, WhereCopiesOnTheHostAreLostTheRestStaysRight) {
  for (std::uint64_t seed = 1; seed <= 1000 && !HasFailure(); ++seed) {
    run_program({.seed = seed, .steps = 200, .devices = 1 + static_cast<int>(seed % 2),
                 .budgets_per_mille = static_cast<int>(seed % 3) * 15, .recomputations_fail = seed % 5 == 0, .reads_fail = true,
                 .evicts = seed % 4 == 0});
  }
}

// Pages that were not given are counted nowhere, and what they were for is as it was before.
TEST(MachineRandom, WhereTheSystemRefusesPagesTheRestStaysRight) {
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 1000 && !HasFailure(); ++seed) {
    refused += run_program({.seed = seed, .steps = 200, .devices = 1 + static_cast<int>(seed % 2),
                            .budgets_per_mille = static_cast<int>(seed % 3) * 15, .reads_fail = seed % 5 == 0, .pages_fail = true,
                            .evicts = seed % 4 == 0})
                   .refused_pages;
  }
  EXPECT_GT(refused, 1000u);
}

TEST(MachineRandom, LongProgramsStayRight) {
  for (std::uint64_t seed = 1; seed <= 8 && !HasFailure(); ++seed) {
    run_program({.seed = seed, .steps = 200'000, .devices = 1 + static_cast<int>(seed % 3), .most_live = 10 + seed * 20,
                 .check_every = 997, .budgets_per_mille = static_cast<int>(seed % 2)});
  }
}

TEST(MachineRandom, TheSameCommandsGiveTheSameActions) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Settings settings = {.seed = seed, .steps = 2000, .devices = 2, .check_every = 1000, .budgets_per_mille = 10};
    EXPECT_EQ(RandomProgram(settings).run(), RandomProgram(settings).run()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace regrow::machine
