// SPDX-License-Identifier: Apache-2.0
#include "regrow/runtime/executor.h"

#include <fmt/format.h>

#include "regrow/base/log.h"
#include "regrow/base/units.h"
#include "regrow/memory/system_memory.h"
#include "regrow/remat/next_use.h"
#include "regrow/remat/policies.h"
#include "regrow/tensor/walk.h"

namespace regrow::runtime {

using machine::Residency;

Executor::Executor(const Options& options, std::weak_ptr<Returns> returns)
    : returns_(std::move(returns)),
      memory_(std::make_shared<DeviceMemory>(memory::default_reserve_bytes())),
      options_(options),
      machine_({.devices = max_devices,
                .reserve_bytes = memory::default_reserve_bytes(),
                .memory_bytes = memory::system_memory_bytes()}) {
  machine_.set_recording(options.record_computing_path != 0);
  set_policy();
}

std::size_t Executor::execute(CommandBuffer::Cursor head) {
  const bool budgeted = std::any_of(budgets_.begin(), budgets_.end(), [](std::size_t bytes) { return bytes > 0; });
  Fusion::Group* group = fusion_.find(head, slots_, budgeted);
  const std::size_t commands = group ? group->commands : 1;
  auto bracket = [&](EventKind kind) {
    CommandBuffer::Cursor at = head;
    for (std::size_t i = 0; i < commands; ++i, at.advance())
      watch_.emit({.kind = kind, .device = at->device, .id = at->id, .name = command_name(*at)});
  };
  if (watch_) [[unlikely]]
    bracket(EventKind::command_begin);
  last_error_ = 0;
  if (spill_) tell_transfers();
  if (group) {
    for (SlotIndex slot : group->early_deletes) del(slot);
    neediest_ = group->neediest;
    apply(group->command);
    neediest_ = {};
    operators_ += group->members - 1;
    for (std::uint64_t tensor : group->vanished)
      watch_.emit({.kind = EventKind::tensor_erase, .device = group->command.device, .tensor = tensor});
  } else {
    carry_out(*head);
  }
  if (spill_ && budgeted) look_ahead(head, commands);
  if (watch_) [[unlikely]] {
    sample_memory();
    bracket(EventKind::command_end);
  }
  return commands;
}

void Executor::carry_out(Command& command) {
  using Kind = Command::Kind;
  switch (command.kind) {
    case Kind::apply: return apply(command);
    case Kind::put: return put(command);
    case Kind::put_foreign: return put_foreign(command);
    case Kind::del: return del(command.inputs[0]);
    case Kind::settle: return answer(command, error_of(command.inputs[0]));
    case Kind::read: return read(command);
    case Kind::hand_out: return hand_out(command);
    case Kind::take_back: machine_.unexport(static_cast<machine::StorageId>(command.value)); return drive(command);
    case Kind::drop: return drop(command);
    case Kind::swap_out:
    case Kind::swap_in: return swap(command);
    case Kind::set_option: return set_option(command);
    case Kind::set_budget: return set_budget(command);
    case Kind::set_spill: return set_spill(command);
    case Kind::reset_peak: machine_.reset_peak(command.device); return answer(command, 0);
    case Kind::report: return report(command);
    case Kind::observe: watch_.observe(command.observer); return answer(command, 0);
    case Kind::start_profile: return start_profile();
    case Kind::stop_profile: return stop_profile();
    case Kind::end_step: return end_step();
    case Kind::record_step: return recorder_.want(command.planning->wanted, std::move(command.planning->taker));
    case Kind::tune: next_tuning_ = std::make_unique<PolicyTuning>(command.planning->tuning); return;
    case Kind::sync:
    case Kind::stop: command.waiter->error = errors_.tell_earliest(); return answer(command, 0);
  }
}

// Fills in what the caller waits for: the error, or the descriptors of what the command names.
void Executor::answer(Command& command, ErrorId error) {
  Waiter* waiter = command.waiter;
  if (!waiter) return;
  command.waiter = nullptr;
  if (error != 0) {
    waiter->error = errors_.tell(error);
  } else if (command.kind == Command::Kind::apply) {
    for (const CommandOutput& output : command.outputs) waiter->descs.push_back(slots_[output.slot]->desc);
  } else if (!command.inputs.empty() && command.kind != Command::Kind::report && slots_[command.inputs[0]]) {
    waiter->descs.push_back(slots_[command.inputs[0]]->desc);
  }
  watch_.emit({.kind = EventKind::notify, .flag = error != 0, .id = command.id, .name = name_of(command.kind)});
  waiter->finish();
}

// ---- Errors ----

Executor::ErrorId Executor::error_of(SlotIndex index) const {
  const Value* value = slots_[index];
  if (value->error != 0 || !regrowing_failed_) return value->error;
  return machine_.error_of(index);
}

void Executor::note_error(SlotIndex index, ErrorId error) {
  if (error == 0 || slots_[index]->error != 0) return;
  slots_[index]->error = error;
  errors_.retain(error);
}

Executor::ErrorId Executor::fail(Failure failure, bool of_operation) {
  watch_.emit({.kind = EventKind::worker_error,
               .name = failure.message,
               .detail = failure.site.line ? fmt::format("{}:{}", failure.site.file, failure.site.line) : std::string()});
  if (of_operation && options_.catch_worker_exception == 0 && !fatal_) fatal_ = failure.thrown();
  return errors_.add(std::move(failure));
}

// ---- Single tensors ----

void Executor::put(Command& command) {
  const CommandOutput& output = command.outputs[0];
  Value* value = values_.create();
  value->tensor = value->root = output.tensor;
  value->origin = nullptr;
  value->describe(output.desc);
  slot(output.slot) = value;
  machine_.put(output.slot, command.device, value->storage_bytes);
  drive(command);
  if (recorder_.records()) recorder_.put(output.slot, command.device, value->storage_bytes);
  if (last_error_ != 0) ++failed_puts_;
  note_error(output.slot, last_error_);
  answer(command, last_error_);
}

void Executor::put_foreign(Command& command) {
  const CommandOutput& output = command.outputs[0];
  Value* value = values_.create();
  value->tensor = value->root = output.tensor;
  value->origin = nullptr;
  value->describe(output.desc);
  slot(output.slot) = value;
  machine_.put_foreign(output.slot, command.device, value->storage_bytes);
  drive(command);
  const machine::Operand operand = machine_.operand(output.slot);
  Storage& kept = storage(operand.storage);
  kept.foreign = std::move(command.foreign);
  if (recorder_.records()) recorder_.put(output.slot, command.device, 0);
  kept.foreign_base = const_cast<std::byte*>(kept.foreign->data()) - value->offset;
  made(operand, *value);
  answer(command, 0);
}

void Executor::del(SlotIndex index) {
  if (recorder_.records()) recorder_.deleted(index);
  machine_.del(index);
  drive(no_command_);
  forget_slot(index);
}

void Executor::forget_slot(SlotIndex index) {
  Value* value = slots_[index];
  slots_[index] = nullptr;
  // A tensor with memory of its own is erased with its storage; a view, or one that never had memory, is gone now.
  if (value->is_view() || value->error != 0)
    watch_.emit({.kind = EventKind::tensor_erase, .device = value->desc.device.index, .tensor = value->tensor});
  if (value->error != 0) {
    errors_.release(value->error);
    value->error = 0;
  }
  values_.release(value);
}

void Executor::read(Command& command) {
  const SlotIndex index = command.inputs[0];
  ErrorId error = error_of(index);
  if (error == 0) {
    if (recorder_.records()) recorder_.wanted(index);
    machine_.fetch(index);
    drive(command);
    error = machine_.refused() != 0 ? machine_.refused() : machine_.error_of(index);
  }
  if (error == 0) {
    const machine::Operand operand = machine_.operand(index);
    const Value& value = *slots_[index];
    const View view{&value.desc, base_of(operand) + value.offset};
    try {
      if (command.waiter->destination)
        copy_strided(view, command.waiter->destination);
      else
        command.waiter->value = HostArray::gather(view);
    } catch (const std::exception&) {  // the caller cannot be given a copy: the tensor is as good as before
      error = fail({.message = fmt::format("read: no host memory for {}", to_string(value.desc)),
                    .site = command.site,
                    .cause = std::current_exception()},
                   false);
    }
  }
  answer(command, error);
}

namespace {

// Keeps an exported storage, and the memory that it stands in, until the last copy of the DeviceTensor is gone.
class Export {
 public:
  Export(std::weak_ptr<Returns> returns, std::shared_ptr<DeviceMemory> memory, machine::StorageId storage)
      : returns_(std::move(returns)), memory_(std::move(memory)), storage_(storage) {}
  Export(const Export&) = delete;
  Export& operator=(const Export&) = delete;
  ~Export() {
    if (const auto channel = returns_.lock()) channel->take_back(storage_);
  }

 private:
  std::weak_ptr<Returns> returns_;
  std::shared_ptr<DeviceMemory> memory_;
  machine::StorageId storage_;
};

}  // namespace

void Executor::hand_out(Command& command) {
  const SlotIndex index = command.inputs[0];
  ErrorId error = error_of(index);
  if (error == 0) {
    if (recorder_.records()) recorder_.wanted(index);
    machine_.fetch(index);
    drive(command);
    error = machine_.refused() != 0 ? machine_.refused() : machine_.error_of(index);
  }
  if (error == 0) {
    const machine::Operand operand = machine_.operand(index);
    const Value& value = *slots_[index];
    std::shared_ptr<const void> owner;
    if (operand.foreign) {
      owner = std::make_shared<DeviceTensor>(*storage(operand.storage).foreign);
    } else {
      if (recorder_.records()) recorder_.exported(index);
      machine_.export_storage(index);
      drive(command);
      owner = std::make_shared<Export>(returns_, memory_, operand.storage);
    }
    std::byte* data = base_of(machine_.operand(index)) + value.offset;
    command.waiter->tensor = DeviceTensor(value.desc, data, std::move(owner));
  }
  answer(command, error);
}

void Executor::drop(Command& command) {
  const SlotIndex index = command.inputs[0];
  const ErrorId error = error_of(index);
  if (error == 0 && machine_.droppable(index)) {
    machine_.drop(index);
    drive(command);
  } else if (error == 0 && machine_.residency(index) != Residency::dropped && !std::exchange(warned_, true)) {
    log().warn("drop: nothing can compute this tensor again ({}), so it stays; further ones are passed over in silence [{}:{}]",
               to_string(slots_[index]->desc), command.site.file, command.site.line);
  }
  answer(command, 0);
}

void Executor::swap(Command& command) {
  const SlotIndex index = command.inputs[0];
  ErrorId refused = 0;
  if (error_of(index) == 0) {
    const bool out = command.kind == Command::Kind::swap_out;
    if (out)
      machine_.swap_out(index);
    else
      machine_.swap_in(index);
    drive(command);
    if (!out) refused = machine_.refused();
  }
  answer(command, refused);
}

// ---- Settings and reports ----

void Executor::set_option(const Command& command) {
  options_.*command.member = command.value;
  if (command.member == &Options::record_computing_path) machine_.set_recording(command.value != 0);
  if (command.member == &Options::policy) return set_policy();
  constexpr std::size_t Options::*of_eviction[] = {&Options::enable_auto_evict, &Options::eviction_threshold,
                                                   &Options::evictee_minimum_size};
  if (std::find(std::begin(of_eviction), std::end(of_eviction), command.member) != std::end(of_eviction)) set_eviction();
}

// The old policy is asked nothing any more once the machine has the new one.
void Executor::set_policy() {
  auto policy = std::make_unique<MeteredPolicy>(remat::make_policy(remat::policies[options_.policy]));
  policy_.swap(policy);
  tuning_ = {};
  set_eviction();
}

void Executor::set_eviction() {
  machine_.set_eviction({.policy = options_.enable_auto_evict != 0 ? policy_.get() : nullptr,
                         .mark = tuning_.mark != 0 ? tuning_.mark : options_.eviction_threshold,
                         .least_bytes = options_.evictee_minimum_size});
  drive(no_command_);
}

// A tuning waits for this: little is alive, and what is known of it is soon known again. Replays know no disk, so with one there is none.
void Executor::end_step() {
  ++steps_;
  if (const auto tuning = std::exchange(next_tuning_, nullptr); tuning && tuning->budget_bytes == budgets_[0] && !spill_) {
    if (auto* policy = dynamic_cast<remat::NextUsePolicy*>(&policy_->policy())) {
      policy->set(tuning->settings);
      tuning_ = *tuning;
      if (tuned_step_ == 0) tuned_step_ = steps_;
      set_eviction();
    }
  }
  if (recorder_.listens() && recorder_.step_ended(steps_, budgets_[0])) begin_recording();
}

void Executor::begin_recording() {
  recorder_.begin();
  for (SlotIndex index = 0; index < slots_.size(); ++index) {
    if (!slots_[index] || !machine_.has(index)) continue;
    if (error_of(index) != 0) return recorder_.give_up();
    const machine::Operand operand = machine_.operand(index);
    recorder_.stands(index, operand.storage, operand.device, operand.foreign ? 0 : storage(operand.storage).bytes);
  }
}

void Executor::set_budget(Command& command) {
  machine_.set_budget(command.device, command.value);
  drive(command);
  const ErrorId refused = machine_.refused();
  if (refused == 0) {
    budgets_[command.device] = command.value;
    if (tuning_.mark != 0) tuning_.mark = 0, set_eviction();
    limit_arena(command.device);
  }
  answer(command, refused);
}

void Executor::report(Command& command) {
  const machine::Usage usage = machine_.usage(command.device);
  const machine::Counters& counters = machine_.counters();
  MemoryReport& report = command.waiter->report;
  report.budget_bytes = usage.budget_bytes;
  report.live_bytes = usage.live_bytes;
  report.peak_bytes = usage.peak_bytes;
  report.peak_tensor_bytes = usage.peak_tensor_bytes;
  report.committed_bytes = usage.committed_bytes;
  report.peak_committed_bytes = usage.peak_committed_bytes;
  report.workspace_bytes = usage.workspace_bytes;
  report.operation_bytes = usage.operation_bytes;
  report.largest_hole_bytes = usage.largest_hole_bytes;
  report.swapped_bytes = usage.swapped_bytes;
  report.staging_bytes = usage.staging_bytes;
  report.spilled_bytes = spilled_before_ + (spill_ ? spill_->written() : 0);
  report.stall_seconds = stall_seconds_;
  report.live_tensors = counters.live;
  report.ghosts = counters.ghosts;
  report.operators = operators_;
  report.recomputed_ops = counters.recomputed;
  report.evictions = counters.evicted + counters.dropped + counters.swapped_out;
  report.decision_us_median = policy_->choices().quantile_us(0.5);
  report.decision_us_p99 = policy_->choices().quantile_us(0.99);
  report.decision_seconds = policy_->seconds();
  report.steps = steps_;
  report.tuned_step = tuned_step_;
  report.recompute_seconds = counters.recompute_seconds;
  // Constants that only the cache still holds are nobody's tensors.
  for (SlotIndex index : command.inputs) {
    --report.live_tensors;
    if (error_of(index) != 0 || slots_[index]->desc.device.index != command.device) continue;
    if (machine_.residency(index) == Residency::resident) report.live_bytes -= machine_.operand(index).place.bytes;
  }
  answer(command, 0);
}

}  // namespace regrow::runtime
