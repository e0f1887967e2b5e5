// SPDX-License-Identifier: Apache-2.0
// The worker's events. Called on the paths that an observer may watch; all of it is skipped while no profile runs.
#include "regrow/runtime/executor.h"

namespace regrow::runtime {
namespace {

using machine::Residency;

std::string_view name_of(Residency residency) noexcept {
  constexpr std::string_view names[] = {"resident", "dropped", "swapped", "poisoned"};
  return names[static_cast<std::size_t>(residency)];
}

constexpr std::string_view why_names[] = {"deleted", "dropped", "swapped", "in_place", "temporary", "cascade", "evicted"};

}  // namespace

std::string_view Executor::command_name(const Command& command) const {
  return command.op ? command.op->name() : runtime::name_of(command.kind);
}

void Executor::announce_run(const Operation& operation, const Action& action, bool begins) {
  scratch_ids_.clear();
  for (const Value* value : operation.inputs) scratch_ids_.push_back(value->tensor);
  for (const Value* value : operation.outputs) scratch_ids_.push_back(value->tensor);
  const std::span<const std::uint64_t> ids(scratch_ids_);
  const auto inputs = ids.first(operation.inputs.size());
  const auto outputs = ids.subspan(operation.inputs.size());
  const std::string detail = operation.op->attrs().text();
  Event event{.kind = EventKind::op_execute_begin, .reason = action.regrow ? Reason::regrow : Reason::command,
              .device = action.device, .id = operation.id, .name = operation.op->name(), .detail = detail};
  event.inputs = inputs;
  event.outputs = outputs;
  event.deletes = action.regrow ? std::span<const std::uint64_t>() : std::span<const std::uint64_t>(delete_ids_);
  Event bracket = event;
  if (begins) {
    bracket.kind = EventKind::regrow_begin;
    if (action.regrow) watch_.emit(bracket);
    watch_.emit(event);
    for (std::uint64_t id : inputs) watch_.emit({.kind = EventKind::tensor_use, .device = action.device, .id = operation.id, .tensor = id});
    return;
  }
  event.kind = EventKind::op_execute_end;
  bracket.kind = EventKind::regrow_end;
  watch_.emit(event);
  if (action.regrow) watch_.emit(bracket);
}

// A storage has bytes from here on; a view says that it can be read.
void Executor::made(const machine::Operand& operand, const Value& value) {
  if (!value.is_view()) {
    Storage& kept = storage(operand.storage);
    if (kept.resident && kept.tensor == value.tensor) return;  // computed again for the sake of a sibling
    kept.tensor = value.tensor;
    kept.bytes = value.storage_bytes;
    kept.device = operand.device;
    kept.resident = true;
  }
  if (watch_) [[unlikely]] tell_produced(value);
}

void Executor::tell_produced(const Value& value) {
  watch_.emit({.kind = EventKind::tensor_produce, .device = value.desc.device.index, .tensor = value.tensor,
               .bytes = value.is_view() ? 0 : value.storage_bytes, .desc = &value.desc});
}

void Executor::tell_release(Storage& kept, std::uint8_t device, std::string_view why, bool survives) {
  if (!kept.resident) return;
  kept.resident = false;
  watch_.emit({.kind = EventKind::tensor_release, .flag = survives, .device = device, .tensor = kept.tensor, .bytes = kept.bytes,
               .detail = why});
}

void Executor::released(const Action& action) {
  Storage& kept = storage(action.operand.storage);
  tell_release(kept, action.operand.device, why_names[static_cast<std::size_t>(action.why)], false);
  const bool evicted = action.why == Action::Why::evicted;
  if (kept.tensor == 0 || (!evicted && action.why != Action::Why::dropped)) return;
  watch_.emit({.kind = EventKind::drop, .device = action.operand.device, .tensor = kept.tensor, .bytes = kept.bytes,
               .name = evicted ? "evicted" : "dropped"});
}

void Executor::erased(const Action& action) {
  Storage& kept = storage(action.operand.storage);
  tell_release(kept, action.operand.device, "deleted", false);
  if (kept.tensor != 0 && action.why == Action::Why::cascade)
    watch_.emit({.kind = EventKind::cascade, .device = action.operand.device, .tensor = kept.tensor, .bytes = kept.bytes});
  if (kept.tensor != 0) watch_.emit({.kind = EventKind::tensor_erase, .device = action.operand.device, .tensor = kept.tensor});
  kept.tensor = 0;
  kept.hash = 0;
  kept.foreign.reset();
}

void Executor::sample_memory() {
  for (std::uint8_t device = 0; device < max_devices; ++device) {
    const machine::Usage usage = machine_.usage(device);
    Sample& last = sampled_[device];
    if (usage.live_bytes == last.live && usage.committed_bytes == last.committed) continue;
    last = {usage.live_bytes, usage.committed_bytes};
    watch_.emit({.kind = EventKind::memory_sample, .device = device, .bytes = last.live, .committed = last.committed});
  }
}

// A profile begins in the middle of a life: whoever watches is told of every tensor that there is, and where it is. Tensors that the
// user has deleted, and that recipes or views still need, are ghosts.
void Executor::start_profile() {
  watch_.set_profiling(true);
  sampled_.fill({});
  if (!watch_) return;
  std::vector<bool> announced(storages_.size(), false);
  for (const bool views : {false, true}) {
    for (SlotIndex index = 0; index < slots_.size(); ++index) {
      if (!slots_[index]) continue;
      const Value& value = *slots_[index];
      const bool poisoned = error_of(index) != 0;
      if ((value.is_view() && !poisoned) != views) continue;
      const Residency residency = poisoned ? Residency::poisoned : machine_.residency(index);
      watch_.emit({.kind = EventKind::tensor_declare, .flag = true, .device = value.desc.device.index, .tensor = value.tensor,
                   .bytes = value.storage_bytes, .name = value.origin ? value.origin->name : std::string_view("put"),
                   .detail = name_of(residency), .desc = &value.desc});
      if (poisoned) continue;
      const machine::Operand operand = machine_.operand(index);
      announced[operand.storage] = true;
      if (residency == Residency::resident) tell_produced(value);
    }
    for (std::size_t id = 0; !views && id < storages_.size(); ++id) {
      const Storage& kept = storages_[id];
      if (announced[id] || kept.tensor == 0) continue;
      watch_.emit({.kind = EventKind::tensor_declare, .flag = true, .device = kept.device, .tensor = kept.tensor, .bytes = kept.bytes,
                   .name = "ghost", .detail = kept.resident ? "resident" : "dropped"});
      if (kept.resident)
        watch_.emit({.kind = EventKind::tensor_produce, .device = kept.device, .tensor = kept.tensor, .bytes = kept.bytes});
    }
  }
}

void Executor::stop_profile() {
  for (std::size_t id = 0; watch_ && id < storages_.size(); ++id) {
    Storage& kept = storages_[id];
    if (kept.tensor == 0) continue;
    const bool resident = kept.resident;
    tell_release(kept, kept.device, "profile ends", true);
    kept.resident = resident;
    watch_.emit({.kind = EventKind::tensor_erase, .flag = true, .device = kept.device, .tensor = kept.tensor});
  }
  for (SlotIndex index = 0; watch_ && index < slots_.size(); ++index) {
    if (!slots_[index]) continue;
    const Value& value = *slots_[index];
    if (value.is_view() || value.error != 0)
      watch_.emit({.kind = EventKind::tensor_erase, .flag = true, .device = value.desc.device.index, .tensor = value.tensor});
  }
  watch_.emit({.kind = EventKind::profile_end});
  watch_.set_profiling(false);
}

}  // namespace regrow::runtime
