// SPDX-License-Identifier: Apache-2.0
// The worker's events. Called on the paths that an observer may watch; all of it is skipped while no profile runs.
#include <fmt/format.h>

#include "regrow/ops/callback.h"
#include "regrow/ops/var.h"
#include "regrow/runtime/executor.h"

namespace regrow::runtime {
namespace {

using machine::Residency;

std::string_view name_of(Residency residency) noexcept {
  constexpr std::string_view names[] = {"resident", "dropped", "swapped", "poisoned"};
  return names[static_cast<std::size_t>(residency)];
}

constexpr std::string_view why_names[] = {"deleted", "dropped", "swapped", "in_place", "temporary", "cascade"};

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

void Executor::made(const machine::Operand& operand, const Value& value) {
  if (!watch_) return;
  watch_.emit({.kind = EventKind::tensor_produce, .device = operand.device, .tensor = value.tensor,
               .bytes = value.is_view() ? 0 : value.storage_bytes, .desc = &value.desc});
}

void Executor::released(const Action& action) {
  if (!watch_) return;
  const Storage& kept = storage(action.operand.storage);
  Event event{.kind = EventKind::tensor_release, .device = action.operand.device, .tensor = kept.tensor, .bytes = kept.bytes,
              .detail = why_names[static_cast<std::size_t>(action.why)]};
  watch_.emit(event);
  if (action.why == Action::Why::dropped) event.kind = EventKind::drop, watch_.emit(event);
  if (action.why == Action::Why::cascade) event.kind = EventKind::cascade, watch_.emit(event);
}

void Executor::erased(const Action& action) {
  Storage& kept = storage(action.operand.storage);
  if (kept.tensor != 0) watch_.emit({.kind = EventKind::tensor_erase, .device = action.operand.device, .tensor = kept.tensor});
  kept.tensor = 0;
  kept.bytes = 0;
  kept.foreign.reset();
}

void Executor::sample_memory(std::uint8_t device) {
  const machine::Usage usage = machine_.usage(device);
  if (usage.live_bytes == sampled_live_ && usage.committed_bytes == sampled_committed_) return;
  sampled_live_ = usage.live_bytes;
  sampled_committed_ = usage.committed_bytes;
  watch_.emit({.kind = EventKind::memory_sample, .device = device, .bytes = usage.live_bytes, .committed = usage.committed_bytes});
}

// A profile begins in the middle of a life: whoever watches is told of every tensor that there is, and where it is.
void Executor::start_profile(const Command&) {
  watch_.set_profiling(true);
  sampled_live_ = sampled_committed_ = ~std::size_t{0};
  for (SlotIndex index = 0; index < slots_.size(); ++index) {
    if (!slots_[index]) continue;
    const Value& value = *slots_[index];
    const Residency residency = error_of(index) != 0 ? Residency::poisoned : machine_.residency(index);
    const std::uint8_t device = value.desc.device.index;
    watch_.emit({.kind = EventKind::tensor_declare, .flag = true, .device = device, .tensor = value.tensor,
                 .bytes = value.storage_bytes, .name = value.origin ? value.origin->name : std::string_view("put"),
                 .detail = name_of(residency), .desc = &value.desc});
    if (residency == Residency::resident) made(machine_.operand(index), value);
  }
}

void Executor::stop_profile() {
  for (SlotIndex index = 0; watch_ && index < slots_.size(); ++index) {
    if (!slots_[index]) continue;
    const Value& value = *slots_[index];
    const Residency residency = error_of(index) != 0 ? Residency::poisoned : machine_.residency(index);
    if (residency == Residency::resident && !value.is_view())
      watch_.emit({.kind = EventKind::tensor_release, .flag = true, .device = value.desc.device.index, .tensor = value.tensor,
                   .bytes = value.storage_bytes, .detail = "profile ends"});
    watch_.emit({.kind = EventKind::tensor_erase, .flag = true, .device = value.desc.device.index, .tensor = value.tensor});
  }
  watch_.emit({.kind = EventKind::profile_end});
  watch_.set_profiling(false);
}

}  // namespace regrow::runtime
