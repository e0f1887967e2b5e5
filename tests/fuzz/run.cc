// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <thread>

#include "regrow/runtime/channel.h"

namespace regrow::fuzz {
namespace {

// How something failed. Refused: by a budget, or because the disk has lost it.
struct Failure {
  explicit Failure(const Error& error)
      : text(fmt::format("{} @{}", error.message(), error.site().line)),
        refused(dynamic_cast<const OutOfBudget*>(&error) != nullptr || error.message().starts_with("swap_in: ")) {}
  Failure(const Outcome& of) : text(of.error), refused(of.kind == Outcome::Kind::refused) {}
  std::string text;
  bool refused;
};

std::vector<HostArray> call_back(CallbackKind kind, const HostArray& made, std::span<const HostArray> in) {
  if (kind == CallbackKind::source) return {made};
  std::vector<float> values = in[0].to_vector<float>();
  if (kind == CallbackKind::picky && !values.empty() && values[0] > 0) throw std::out_of_range("picky: the first element is positive");
  if (kind == CallbackKind::twice)
    for (float& value : values) value *= 2;
  return {HostArray::from(values, in[0].shape())};
}

bool same(const HostArray& a, const HostArray& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && (a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

class Run {
 public:
  Run(const Program& program, const Settings& settings)
      : program_(program),
        settings_(settings),
        channel_(settings.options),
        handles_(static_cast<std::size_t>(program.values)),
        outcomes_(handles_.size()) {
    if (!settings.spills) return;
    SpillOptions spill;
    spill.calls.pwrite = [n = 0](int file, const void* data, std::size_t bytes, off_t at) mutable -> ssize_t {
      return ++n % 5 == 0 ? (errno = ENOSPC, -1) : ::pwrite(file, data, bytes, at);
    };
    spill.calls.pread = [n = 0](int file, void* data, std::size_t bytes, off_t at) mutable -> ssize_t {
      return ++n % 7 == 0 ? (errno = EIO, -1) : ::pread(file, data, bytes, at);
    };
    channel_.set_spill_directory(std::filesystem::temp_directory_path(), spill);
  }

  std::vector<Outcome> all(Work& work) {
    for (line_ = 0; line_ < static_cast<int>(program_.steps.size()); ++line_) step(program_.steps[static_cast<std::size_t>(line_)]);
    for (int d = 0; d < 2; ++d) channel_.clear_memory_budget(Device(d));
    for (std::size_t v = 0; v < handles_.size(); ++v)
      if (handles_[v]) read(static_cast<Value>(v));
    const MemoryReport report = channel_.memory();
    work.evictions += report.evictions, work.recomputed += report.recomputed_ops, work.spilled_bytes += report.spilled_bytes;
    try {
      channel_.close();
    } catch (const Error&) {  // an error that this program told nobody: any of them may be the first
    }
    return std::move(outcomes_);
  }

 private:
  Site site() const { return {"fuzz", line_}; }
  Handle& handle(Value v) { return handles_[static_cast<std::size_t>(v)]; }
  Outcome& outcome(Value v) { return outcomes_[static_cast<std::size_t>(v)]; }

  void saw_error(Value v, const Failure& failure) {
    using Kind = Outcome::Kind;
    Outcome& its = outcome(v);
    // A value that was there before may not fit now, and may be there again later.
    if (failure.refused && its.kind == Kind::value) return;
    if (its.kind == Kind::value || (its.kind == Kind::error && its.error != failure.text))
      throw std::logic_error(fmt::format("%{} had another outcome before: now '{}', then '{}'", v, failure.text, its.error));
    its.kind = failure.refused ? Kind::refused : Kind::error;
    its.error = failure.text;
  }
  void saw_value(Value v, HostArray value) {
    if (outcome(v).kind == Outcome::Kind::error || (outcome(v).kind == Outcome::Kind::value && !same(outcome(v).value, value)))
      throw std::logic_error(fmt::format("%{} changed", v));
    outcome(v).kind = Outcome::Kind::value;
    outcome(v).value = std::move(value);
  }

  void read(Value v) {
    try {
      saw_value(v, channel_.get_value(handle(v), site()));
    } catch (const Error& error) {
      saw_error(v, Failure(error));
    }
  }

  // The error that outputs inherit because an input does not exist: that of the first bad input, as the engine would say.
  std::optional<Failure> inherited(const Step& step) {
    bool missing = false;
    for (Value v : step.inputs) missing = missing || !handle(v);
    if (!missing) return {};
    for (Value v : step.inputs) {
      if (!handle(v)) return Failure(outcome(v));
      try {
        channel_.wait(handle(v), site());
      } catch (const Error& error) {
        return Failure(error);
      }
    }
    throw std::logic_error("a missing input without an error");
  }

  // Issues something that yields outputs; if the call throws, they do not exist and have its error.
  template <class Issue>
  void make(const Step& step, Issue&& issue) {
    if (const auto error = inherited(step)) {
      for (Value v : step.outputs) saw_error(v, *error);
      return;
    }
    std::vector<Handle> inputs;
    for (Value v : step.inputs) inputs.push_back(handle(v));
    try {
      const std::vector<Handle> made = issue(inputs);
      if (made.size() != step.outputs.size()) throw std::logic_error("another number of outputs than predicted");
      for (std::size_t i = 0; i < made.size(); ++i) handle(step.outputs[i]) = made[i];
    } catch (const Error& error) {
      for (Value v : step.outputs) saw_error(v, Failure(error));
      return;
    }
    if (settings_.read_all)
      for (Value v : step.outputs) read(v);
  }

  void apply(const Step& step) {
    const OpRecord& record = *find_op(step.op);
    const Op op(record, Attrs(step.op, record.attributes, step.attrs));
    make(step, [&](std::span<const Handle> in) {
      if (!step.explicit_random) return channel_.apply_op(op, in, site());
      std::vector<Handle> out(step.outputs.size());
      channel_.apply(op, in, out, site(), &step.random);
      return out;
    });
  }

  void callback(const Step& step) {
    CallbackOptions options;
    if (step.callback == CallbackKind::source) options.outputs = {{DType::f32, unknown}};
    const Op op = callback_op(
        "listener",
        [kind = step.callback, made = step.value](std::span<const HostArray> in) { return call_back(kind, made, in); }, options);
    make(step, [&](std::span<const Handle> in) { return channel_.apply_op(op, in, site()); });
  }

  void crowd(Value v) {
    constexpr int readers = 3;
    std::vector<std::thread> threads;
    std::vector<std::optional<HostArray>> values(readers);
    std::vector<std::optional<Failure>> errors(readers);
    for (std::size_t i = 0; i < readers; ++i)
      threads.emplace_back([&, i] {
        try {
          values[i] = channel_.get_value(handle(v), site());
        } catch (const Error& error) {
          errors[i].emplace(error);
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < readers; ++i) {
      if (values[i]) saw_value(v, *values[i]);
      else saw_error(v, *errors[i]);
    }
  }

  void step(const Step& step) {
    switch (step.kind) {
      case StepKind::put:
        return make(step, [&](std::span<const Handle>) {
          return std::vector{channel_.put(step.value, {.no_cache = !step.cached, .device = step.device}, site())};
        });
      case StepKind::apply: return apply(step);
      case StepKind::callback: return callback(step);
      case StepKind::export_import:
        return make(step, [&](std::span<const Handle> in) {
          return std::vector{channel_.put(channel_.get_dev_tensor(in[0], site()), site())};
        });
      case StepKind::sync:
        try {
          channel_.sync(site());
        } catch (const Error&) {  // which errors are still untold depends on the level
        }
        return;
      case StepKind::budget: return budget(step);
      case StepKind::seed: return channel_.seed(step.random.key);
      default: break;
    }
    const Value v = step.inputs[0];
    if (!handle(v)) return;
    switch (step.kind) {
      case StepKind::del: channel_.del(handle(v)), handle(v) = {}; return;
      case StepKind::drop: return by_hand([&] { channel_.drop(handle(v), false, site()); });
      case StepKind::swap_out: return by_hand([&] { channel_.swap_out(handle(v), site()); });
      case StepKind::swap_in: return by_hand([&] { channel_.swap_in(handle(v), site()); });
      case StepKind::crowd: return crowd(v);
      case StepKind::get_shape:
      case StepKind::wait:
        try {
          if (step.kind == StepKind::wait) channel_.wait(handle(v), site());
          else channel_.get_shape(handle(v), site());
        } catch (const Error& error) {
          saw_error(v, Failure(error));
        }
        return;
      default: return read(v);
    }
  }

  void budget(const Step& step) {
    if (!settings_.budgets) return;
    if (step.bytes == 0) return channel_.clear_memory_budget(step.device);
    try {
      channel_.set_memory_budget(step.bytes, step.device, site());
    } catch (const OutOfBudget&) {  // more is held: the old one stays
    }
  }

  template <class Act>
  void by_hand(Act&& act) {
    if (!settings_.memory_by_hand) return;
    try {
      act();
    } catch (const OutOfBudget&) {  // what swap_in brings back has no room, and the call waits: the tensor stays where it is
    }
  }

  const Program& program_;
  const Settings& settings_;
  Channel channel_;
  std::vector<Handle> handles_;
  std::vector<Outcome> outcomes_;
  int line_ = 0;
};

}  // namespace

std::string to_string(const Settings& settings) {
  std::string text = fmt::format("by_hand={} budgets={} spills={}", settings.memory_by_hand, settings.budgets, settings.spills);
  for (const OptionSpec& spec : option_specs())
    if (settings.options.*spec.member != Options().*spec.member) text += fmt::format(" {}={}", spec.name, settings.options.*spec.member);
  return text;
}

std::vector<Outcome> run(const Program& program, const Settings& settings, Work& work) { return Run(program, settings).all(work); }

std::string difference(const std::vector<Outcome>& expected, const std::vector<Outcome>& seen) {
  for (std::size_t v = 0; v < expected.size(); ++v) {
    const Outcome &a = expected[v], &b = seen[v];
    if (a.kind == Outcome::Kind::unseen || b.kind == Outcome::Kind::unseen || b.kind == Outcome::Kind::refused) continue;
    if (a.kind != b.kind) {
      const std::string& error = a.kind == Outcome::Kind::error ? a.error : b.error;
      return fmt::format("%{}: {} the error '{}'", v, a.kind == Outcome::Kind::error ? "lacks" : "has", error);
    }
    if (a.kind == Outcome::Kind::error && a.error != b.error)
      return fmt::format("%{}: the error is '{}', expected '{}'", v, b.error, a.error);
    if (a.kind == Outcome::Kind::value && !same(a.value, b.value))
      return fmt::format("%{}: other bits: {}{}, expected {}{}", v, name_of(b.value.dtype()), regrow::to_string(b.value.shape()),
                         name_of(a.value.dtype()), regrow::to_string(a.value.shape()));
  }
  return {};
}

}  // namespace regrow::fuzz
