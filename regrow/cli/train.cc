// SPDX-License-Identifier: Apache-2.0
#include "regrow/cli/train.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "regrow/base/clock.h"
#include "regrow/cli/checkpoint.h"
#include "regrow/cli/commands.h"
#include "regrow/cli/progress.h"
#include "regrow/data/prefetch.h"
#include "regrow/kernels/reorder_count.h"
#include "regrow/remat/bounds.h"
#include "regrow/remat/trace_file.h"

namespace regrow::cli {
namespace {

// Losses are read this many steps late: the engine always has work while the program waits, and the program never runs further
// ahead than that.
constexpr std::size_t steps_ahead = 4;
constexpr std::int64_t probed_steps = 6;  // to find the peak without a budget: the pipeline is full by then

double seconds_since(std::uint64_t begin_ns) { return static_cast<double>(now_ns() - begin_ns) * 1e-9; }

class Trainer {
 public:
  explicit Trainer(const TrainOptions& options) : options_(options) {
    seed(options.setting.seed);
    model_ = options.model->make(options.setting);
    optimizer_ = options.model->optimizer(model_.module.parameters(), options.learning_rate);
    steps_ = options.steps.value_or(options.epochs * model_.steps_per_epoch);
    if (!options.resume.empty()) resume();
  }

  // What the first steps take at most. Nothing is shown or kept.
  std::size_t peak() {
    steps_ = std::min(steps_, first_ + probed_steps);
    quiet_ = true;
    TrainResult result;
    learn(result);
    return result.peak_bytes;
  }

  TrainResult run() {
    TrainResult result;
    result.model = options_.model->name;
    result.extent = options_.setting.extent;
    result.steps = steps_;
    learn(result);
    result.measure = measure();
    result.params_hash = hash_parameters(result.parameters);
    return result;
  }

 private:
  // A step that is under way: its loss, not yet read.
  struct Pending {
    std::int64_t step;
    Tensor loss;
    std::int64_t items;
  };

  void resume() {
    const io::Metadata metadata = io::load_checkpoint(options_.resume, {.module = &model_.module, .optimizer = optimizer_.get()});
    first_ = io::integer_of(metadata, "steps");
    if (first_ > steps_) {
      throw UsageError(
          fmt::format("{}: {} steps are done already, more than the {} in all", options_.resume.string(), first_, steps_));
    }
  }

  void save(std::int64_t done) {
    Training training{.model = options_.model,
                      .extent = options_.setting.extent,
                      .seed = options_.setting.seed,
                      .learning_rate = options_.learning_rate,
                      .steps = done};
    if (model_.vocabulary.size() > 0) training.vocabulary = model_.vocabulary;
    io::save_checkpoint(options_.checkpoint,
                        {.module = &model_.module, .optimizer = optimizer_.get(), .metadata = metadata_of(training)});
  }

  void learn(TrainResult& result) {
    sync();
    reset_peak_memory();
    const MemoryReport before = memory();
    const ReplayReport replay_before = replay_report();
    const std::shared_ptr<Recording> recording = quiet_ ? nullptr : record();
    const kernels::ReorderCount reordered = kernels::reorder_count();
    Progress progress(stdout, options_.model->units, steps_ - first_);
    recomputed_before_ = before.recompute_seconds;
    begin_ns_ = last_ns_ = now_ns();
    std::deque<Pending> pending;
    const std::int64_t epoch = model_.steps_per_epoch;
    data::Prefetch<Batch> batches([this, epoch](data::Position at) { return model_.batch(at.epoch * epoch + at.index); }, epoch,
                                  {.at = {first_ / epoch, first_ % epoch}});
    for (std::int64_t step = first_; step < steps_; ++step) {
      pending.push_back(issue(step, batches.next()));
      if (pending.size() > steps_ahead) finish_oldest(pending, progress);
      const bool epoch_ends = (step + 1) % epoch == 0 && step + 1 < steps_;
      if (epoch_ends && !options_.checkpoint.empty() && !quiet_) save(step + 1);
    }
    while (!pending.empty()) finish_oldest(pending, progress);
    progress.finish();
    batches.close();
    sync();
    const MemoryReport report = memory();
    result.seconds = seconds_since(begin_ns_);
    result.loss = loss_;
    result.peak_bytes = report.peak_bytes;
    result.working_set_bytes = report.operation_bytes;
    result.state_bytes = state_bytes();
    result.operators = report.operators - before.operators;
    const auto a_step = [&](std::uint64_t count) {
      return static_cast<double>(count) / static_cast<double>(std::max<std::int64_t>(steps_ - first_, 1));
    };
    result.activation_reorders = a_step(kernels::reorder_count().activations - reordered.activations);
    result.weight_reorders = a_step(kernels::reorder_count().weights - reordered.weights);
    result.seconds_per_step = median_step();
    if (quiet_) return;
    note_budget(result, before, replay_before);
    if (recording) use(*recording, result);
    if (!options_.checkpoint.empty()) save(steps_);
  }

  Pending issue(std::int64_t step, const Batch& batch) {
    optimizer_->set_learning_rate(options_.learning_rate * learning_rate_factor(step));
    Tensor loss = model_.loss(batch);
    loss.backward();
    optimizer_->step();
    optimizer_->zero_grad();
    return {step, loss.detach(), batch.back().shape()[0]};
  }

  void finish_oldest(std::deque<Pending>& pending, Progress& progress) {
    const Pending done = std::move(pending.front());
    pending.pop_front();
    loss_ = done.loss.item<float>();
    const std::uint64_t now = now_ns();
    seconds_.push_back(static_cast<double>(now - last_ns_) * 1e-9);
    last_ns_ = now;
    items_ += done.items;

    const double elapsed = seconds_since(begin_ns_);
    const std::int64_t finished = done.step + 1;
    if (quiet_ || !progress.due(finished - first_, elapsed)) return;
    const MemoryReport report = memory();
    progress.show({.step = finished,
                   .steps = steps_,
                   .loss = loss_,
                   .items_per_second = static_cast<double>(items_) / elapsed,
                   .live_bytes = report.live_bytes,
                   .peak_bytes = report.peak_bytes,
                   .budget_bytes = report.budget_bytes,
                   .recompute_share = (report.recompute_seconds - recomputed_before_) / elapsed,
                   .seconds_left = elapsed / static_cast<double>(finished - first_) * static_cast<double>(steps_ - finished)},
                  finished - first_, elapsed);
  }

  // The first step that repeats the one before, or the third.
  struct Recording {
    std::mutex mutex;
    std::optional<RecordedStep> step;
  };

  std::shared_ptr<Recording> record() const {
    if (!options_.budget && options_.trace.empty()) return nullptr;
    auto recording = std::make_shared<Recording>();
    default_channel().record_step({.skip = 2}, [recording](const RecordedStep& step) {
      const std::lock_guard lock(recording->mutex);
      recording->step = step;
    });
    return recording;
  }

  void use(Recording& recording, TrainResult& result) const {
    const std::lock_guard lock(recording.mutex);
    const std::size_t staging = result.budget.memory.staging_bytes;
    if (recording.step && staging > 0) result.budget.floor_bytes = remat::floor_with_disk(recording.step->trace, staging);
    else if (recording.step) result.budget.floor_bytes = remat::floor_bytes(recording.step->trace, true);
    if (options_.trace.empty()) return;
    require(recording.step.has_value(), "{}: no step could be recorded; there must be five at least", options_.trace.string());
    remat::write_trace(recording.step->trace, options_.trace.string());
  }

  void note_budget(TrainResult& result, const MemoryReport& before, const ReplayReport& replay_before) const {
    BudgetResult& budget = result.budget;
    budget.memory = memory();
    budget.budget_bytes = budget.memory.budget_bytes;
    budget.seconds = result.seconds;
    budget.memory.evictions -= before.evictions;
    budget.memory.recomputed_ops -= before.recomputed_ops;
    budget.memory.recompute_seconds -= before.recompute_seconds;
    budget.memory.decision_seconds -= before.decision_seconds;
    budget.memory.spilled_bytes -= before.spilled_bytes;
    budget.memory.stall_seconds -= before.stall_seconds;
    if (budget.memory.tuned_step > before.steps) budget.memory.tuned_step -= before.steps;
    budget.replay = replay_report();
    budget.replay.cpu_seconds -= replay_before.cpu_seconds;
    budget.replay.elapsed_seconds -= replay_before.elapsed_seconds;
  }

  double median_step() {
    if (seconds_.empty()) return 0;
    const auto middle = seconds_.begin() + static_cast<std::ptrdiff_t>(seconds_.size() / 2);
    std::nth_element(seconds_.begin(), middle, seconds_.end());
    return *middle;
  }

  std::size_t state_bytes() const {
    const auto bytes_of = [](const Tensor& tensor) { return static_cast<std::size_t>(tensor.size()) * size_of(tensor.dtype()); };
    std::size_t bytes = 0;
    for (const auto& [name, value] : model_.module.state_dict()) bytes += bytes_of(value);
    for (const auto& [name, value] : optimizer_->state()) bytes += bytes_of(value);
    return bytes;
  }

  double measure() {
    NoGrad guard;
    model_.module.eval();
    return model_.measure();
  }

  std::string hash_parameters(std::int64_t& count) const {
    const std::unique_ptr<XXH64_state_t, XXH_errorcode (*)(XXH64_state_t*)> state(XXH64_createState(), XXH64_freeState);
    XXH64_reset(state.get(), 0);
    for (const auto& [name, parameter] : model_.module.named_parameters()) {
      const HostArray value = parameter.value().host();
      XXH64_update(state.get(), value.data(), value.bytes());
      count += value.count();
    }
    return fmt::format("{:016x}", XXH64_digest(state.get()));
  }

  const TrainOptions& options_;
  Model model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::int64_t first_ = 0, steps_ = 0;

  std::uint64_t begin_ns_ = 0, last_ns_ = 0;
  std::vector<double> seconds_;  // of each step
  std::int64_t items_ = 0;
  double loss_ = 0;
  double recomputed_before_ = 0;
  bool quiet_ = false;
};

}  // namespace

double learning_rate_factor(std::int64_t step) {
  constexpr std::int64_t level = 50;  // costs are measured for each operator with its attributes: not a new rate each step
  return 1 / std::sqrt(1 + static_cast<double>(step / level * level) / 1000);
}

std::size_t unlimited_peak(const TrainOptions& options) { return Trainer(options).peak(); }

TrainResult train(const TrainOptions& options, std::size_t unlimited_peak_bytes) {
  if (options.budget) set_memory_budget(options.budget.bytes(unlimited_peak_bytes));
  try {
    TrainResult result = Trainer(options).run();
    result.budget.unlimited_peak_bytes = unlimited_peak_bytes;
    return result;
  } catch (const OutOfBudget&) {
    try {
      sync();  // what else did not fit is no news
    } catch (const Error&) {
    }
    throw;
  }
}

}  // namespace regrow::cli
