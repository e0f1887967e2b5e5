// SPDX-License-Identifier: Apache-2.0
// Operations: described to the machine, with all that it takes to run them again.
#include <algorithm>

#include "regrow/base/hash.h"
#include "regrow/runtime/executor.h"
#include "regrow/runtime/host_compute.h"

namespace regrow::runtime {

void Executor::apply(Command& command) {
  ErrorId inherited = 0;
  for (SlotIndex slot : command.inputs)
    if (inherited == 0) inherited = error_of(slot);
  if (command.infer_late && inherited == 0 && !infer_late(command)) return;
  if (inherited != 0 && !reads_values(command.op->record())) {  // the machine does not hear of its inputs
    recorder_.give_up();
    return poison(command, inherited);
  }
  current_ = operations_.create();
  load(command, operations_[current_]);
  machine::ApplySpec spec = submit(command, current_);
  last_run_seconds_ = 0;
  const std::string_view name = recorder_.records() ? operations_[current_].op->name() : std::string_view();
  drive(command);
  if (recorder_.listens()) [[unlikely]] record(command, spec, name);
  ++operators_;
  finish_apply(command, inherited);
}

// The operation as it may have to run long after its command and its tensors' slots are gone.
void Executor::load(Command& command, Operation& operation) {
  operation.op = std::move(command.op);
  operation.random = command.random;
  operation.site = command.site;
  operation.id = command.id;
  for (SlotIndex index : command.inputs) {
    values_.retain(slot(index));
    operation.inputs.push_back(slots_[index]);
  }
  for (const CommandOutput& output : command.outputs) {
    Value* value = values_.create();
    value->tensor = value->root = output.tensor;
    value->origin = &operation.op->record();
    if (!output.desc.known) value->desc = output.desc, value->storage_bytes = 0, value->whole = true, value->offset = 0;
    else if (output.view_of < 0) value->describe(output.desc);
    else value->describe_view(output.desc, output.view_offset, *operation.inputs[static_cast<std::size_t>(output.view_of)]);
    slot(output.slot) = value;
    values_.retain(value);
    operation.outputs.push_back(value);
  }
}

machine::ApplySpec Executor::submit(Command& command, machine::Payload payload) {
  const Operation& operation = operations_[payload];
  const OpRecord& record = operation.op->record();
  machine::ApplySpec spec{.payload = payload,
                          .replayable = record.replay != Replay::never,
                          .fallible = record.fails_by_value,
                          .state = record.state};
  spec.key = hash_combine(record.index, operation.op->attrs().hash());
  in_descs_.clear(), out_descs_.clear(), output_specs_.clear(), deletes_.clear();
  for (Value* value : operation.inputs) {
    spec.key = hash_combine(spec.key, value->shape_hash());
    in_descs_.push_back(&value->desc);
  }
  bool described = true;
  for (std::size_t k = 0; k < operation.outputs.size(); ++k) {
    const Value& value = *operation.outputs[k];
    described = described && value.desc.known;
    out_descs_.push_back(&value.desc);
    machine::OutputSpec output{.slot = command.outputs[k].slot, .view_of = command.outputs[k].view_of, .bytes = value.storage_bytes};
    output.reuse = reuse_mask(operation, k);
    output_specs_.push_back(output);
  }
  if (watch_) [[unlikely]] {
    delete_ids_.clear();
    for (SlotIndex index : command.deletes) delete_ids_.push_back(slots_[index]->tensor);
  }
  for (SlotIndex index : command.deletes) {
    bool own = false;
    for (const CommandOutput& output : command.outputs) own = own || output.slot == index;
    if (!own) deletes_.push_back(index);
  }
  if (!operation.outputs.empty()) spec.device = operation.outputs[0]->desc.device.index;
  else if (!operation.inputs.empty()) spec.device = operation.inputs[0]->desc.device.index;
  spec.measure = !described;
  if (record.workspace && described) spec.workspace = workspace_bytes(*operation.op, in_descs_, out_descs_);
  if (reads_values(record)) spec.inputs = {command.inputs.data(), command.inputs.size()};
  spec.outputs = output_specs_;
  spec.deletes = deletes_;
  machine_.apply(spec);
  return spec;
}

// Sizes that were open are known now.
void Executor::record(Command& command, machine::ApplySpec& spec, std::string_view name) {
  recorder_.issued(spec.key);
  if (!recorder_.records()) return;
  for (std::size_t k = 0; k < output_specs_.size(); ++k) {
    const Value& value = *slots_[command.outputs[k].slot];
    if (machine_.error_of(command.outputs[k].slot) != 0) return recorder_.give_up();
    if (output_specs_[k].view_of < 0) output_specs_[k].bytes = value.storage_bytes;
  }
  recorder_.applied(spec, name, last_run_seconds_);
}

// Which inputs' storages output k may be written over: same layout, whole storages, and no other input that reads the same storage
// in another order.
std::uint32_t Executor::reuse_mask(const Operation& operation, std::size_t k) const {
  const OpRecord& record = operation.op->record();
  const std::uint32_t allowed = record.tile && !record.compute ? (k == 0 ? ~0u : 0u) : k < record.reuse.size() ? record.reuse[k] : 0u;
  if (allowed == 0) return 0;
  const Value& out = *operation.outputs[k];
  std::uint32_t mask = 0;
  for (std::size_t i = 0; i < operation.inputs.size() && i < 32; ++i) {
    const Value& in = *operation.inputs[i];
    if (!(allowed >> i & 1) || !in.whole || in.storage_bytes != out.storage_bytes || out.storage_bytes == 0) continue;
    bool same = in.desc.shape == out.desc.shape && in.desc.strides == out.desc.strides &&
                size_of(in.desc.dtype) == size_of(out.desc.dtype);
    for (const Value* other : operation.inputs)
      same = same && (other == &in || other->root != in.root ||
                      (other->offset == in.offset && other->desc.shape == in.desc.shape && other->desc.strides == in.desc.strides));
    if (same) mask |= 1u << i;
  }
  return mask;
}

bool Executor::infer_late(Command& command) {
  in_descs_.clear();
  for (SlotIndex index : command.inputs) in_descs_.push_back(&slots_[index]->desc);
  try {
    infer(*command.op, in_descs_, inferred_);
    require(inferred_.size() == command.outputs.size(), "{}: has {} outputs, not {}", command.op->name(), inferred_.size(),
            command.outputs.size());
  } catch (const std::exception& error) {
    const auto* known = dynamic_cast<const Error*>(&error);
    last_error_ = fail({.message = known ? known->message() : error.what(), .site = command.site, .cause = std::current_exception()});
    recorder_.give_up();
    poison(command, last_error_);
    return false;
  }
  for (std::size_t k = 0; k < inferred_.size(); ++k) {
    CommandOutput& output = command.outputs[k];
    output.desc = inferred_[k];
    output.view_of = inferred_[k].view_of;
    output.view_offset = inferred_[k].view_offset;
    watch_.emit({.kind = EventKind::shape_inferred, .flag = output.desc.known, .device = output.desc.device.index, .id = command.id,
                 .tensor = output.tensor, .name = command.op->name(), .desc = &output.desc});
  }
  return true;
}

// The operation has failed before the machine could be told of it.
void Executor::poison(Command& command, ErrorId error) {
  deletes_.clear();
  std::vector<machine::Slot> outputs;
  for (const CommandOutput& output : command.outputs) {
    Value* value = values_.create();
    value->tensor = value->root = output.tensor;
    value->desc = output.desc;
    slot(output.slot) = value;
    outputs.push_back(output.slot);
  }
  for (SlotIndex index : command.deletes)
    if (std::find(outputs.begin(), outputs.end(), index) == outputs.end()) deletes_.push_back(index);
  machine_.apply_failed(outputs, deletes_, error);
  drive(command);
  finish_apply(command, error);
}

void Executor::finish_apply(Command& command, ErrorId inherited) {
  const ErrorId outcome = last_error_ != 0 ? last_error_ : inherited;
  if (outcome != 0)
    for (const CommandOutput& output : command.outputs) note_error(output.slot, machine_.error_of(output.slot));
  else if (watch_) [[unlikely]]
    for (const CommandOutput& output : command.outputs)
      if (slots_[output.slot]->is_view()) made(machine_.operand(output.slot), *slots_[output.slot]);
  answer(command, outcome);
  for (const CommandOutput& output : command.outputs)
    if (std::find(command.deletes.begin(), command.deletes.end(), output.slot) != command.deletes.end()) del(output.slot);
  for (SlotIndex index : command.deletes)
    if (slots_[index]) forget_slot(index);
}

}  // namespace regrow::runtime
