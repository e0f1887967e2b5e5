// SPDX-License-Identifier: Apache-2.0
#include "regrow/runtime/fusion.h"

#include <algorithm>

#include "regrow/base/hash.h"
#include "regrow/ops/fused.h"
#include "regrow/ops/var.h"

namespace regrow::runtime {
namespace {

constexpr std::size_t most_programs = 1024;

bool fusible(const Command& command) noexcept {
  if (command.kind != Command::Kind::apply || command.infer_late || command.waiter || command.outputs.size() != 1) return false;
  const OpRecord& record = command.op->record();
  return record.tile && !record.compute && record.replay == Replay::pure && !record.fails_by_value && !record.state &&
         command.outputs[0].desc.known && !command.inputs.empty() && command.inputs.size() <= kernels::max_tile_inputs;
}

std::size_t output_bytes(const Command& command) noexcept {
  const Desc& desc = command.outputs[0].desc;
  return static_cast<std::size_t>(desc.count()) * size_of(desc.dtype);
}

}  // namespace

// The first result that a slot has in the group wins over an input of the same name: slots mean one tensor within a group.
int Fusion::register_of(SlotIndex slot) const noexcept {
  for (std::size_t k = 0; k < count_; ++k)
    if (members_[k].command->outputs[0].slot == slot) return static_cast<int>(results + k);
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i] == slot) return static_cast<int>(i);
  return -1;
}

bool Fusion::names(SlotIndex slot) const noexcept { return register_of(slot) >= 0; }

bool Fusion::join(Command& command, std::span<Value* const> slots) {
  if (!fusible(command) || names(command.outputs[0].slot)) return false;
  const Desc& out = command.outputs[0].desc;
  if (count_ != 0) {
    const Desc& first = members_[0].command->outputs[0].desc;
    if (out.shape != first.shape || out.strides != first.strides || out.device != first.device) return false;
  }
  if (members_.size() == count_) members_.emplace_back();
  Member& member = members_[count_];
  member.arity = static_cast<std::uint8_t>(command.inputs.size());
  member.bytes = output_bytes(command);
  DType dtypes[kernels::max_tile_inputs] = {};
  const std::size_t inputs_before = inputs_.size();
  for (std::size_t i = 0; i < member.arity; ++i) {
    const SlotIndex slot = command.inputs[i];
    int reg = register_of(slot);
    if (reg < 0) {
      const Value& value = *slots[slot];
      if (value.error != 0 || !value.desc.known || inputs_.size() == most_inputs) return inputs_.resize(inputs_before), false;
      reg = static_cast<int>(inputs_.size());
      inputs_.push_back(slot);
    }
    member.args[i] = static_cast<std::uint16_t>(reg);
    const bool inner = reg >= results;
    dtypes[i] = inner ? members_[reg - results].command->outputs[0].desc.dtype : slots[slot]->desc.dtype;
    const bool again = std::find(command.inputs.begin(), command.inputs.begin() + i, slot) != command.inputs.begin() + i;
    if (!again) member.bytes += inner ? output_bytes(*members_[reg - results].command) : slots[slot]->storage_bytes;
  }
  member.kernel = command.op->record().tile({dtypes, member.arity}, command.op->attrs());
  if (!member.kernel.fn) return inputs_.resize(inputs_before), false;
  member.command = &command;
  member.inputs_so_far = inputs_.size();
  member.early_so_far = early_.size();
  ++count_;
  return true;
}

void Fusion::mark_live(std::size_t count) {
  group_.command.deletes.resize(0);
  for (std::size_t k = 0; k < count; ++k) members_[k].live = true;
  for (std::size_t k = 0; k < count; ++k) {
    for (SlotIndex slot : members_[k].command->deletes) {
      const int reg = register_of(slot);
      if (reg >= results) members_[reg - results].live = false;
      else group_.command.deletes.push_back(slot);
    }
  }
}

bool Fusion::worth(std::size_t count) const noexcept {
  return count >= 2 && std::any_of(members_.begin(), members_.begin() + count, [](const Member& m) { return m.live; });
}

bool Fusion::modest(std::size_t count, std::span<Value* const> slots) const noexcept {
  std::size_t need = 0, most = 0;
  for (std::size_t i = 0; i < members_[count - 1].inputs_so_far; ++i) need += slots[inputs_[i]]->storage_bytes;
  for (std::size_t k = 0; k < count; ++k) {
    most = std::max(most, members_[k].bytes);
    if (members_[k].live) need += output_bytes(*members_[k].command);
  }
  return need <= most;
}

Fusion::Group* Fusion::find(CommandBuffer::Cursor head, std::span<Value* const> slots, bool budgeted) {
  if (head->ends_batch || !fusible(*head)) return nullptr;
  count_ = 0;
  inputs_.clear();
  early_.clear();
  CommandBuffer::Cursor at = head;
  for (std::size_t commands = 1; count_ < most_members; ++commands) {
    if (at->kind == Command::Kind::del) {
      if (names(at->inputs[0])) break;
      early_.push_back(at->inputs[0]);
    } else {
      if (!join(*at, slots)) break;
      members_[count_ - 1].commands = commands;
    }
    if (at->ends_batch) break;
    at.advance();
  }
  if (count_ < 2) return nullptr;
  std::size_t count = count_;
  for (mark_live(count); count >= 2 && budgeted && !modest(count, slots);) mark_live(--count);
  if (!worth(count)) return nullptr;
  build(count, slots);
  return &group_;
}

void Fusion::build(std::size_t count, std::span<Value* const> slots) {
  const Member& last = members_[count - 1];
  inputs_.resize(last.inputs_so_far);
  Command& command = group_.command;
  command.kind = Command::Kind::apply;
  command.id = last.command->id;
  command.site = last.command->site;
  command.op = program_for(count, slots);
  command.inputs.assign(inputs_.begin(), inputs_.end());
  command.outputs.resize(0);
  group_.vanished.clear();
  std::size_t neediest = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const CommandOutput& output = members_[k].command->outputs[0];
    if (members_[k].live) command.outputs.push_back(output);
    else group_.vanished.push_back(output.tensor);
    if (members_[k].bytes > members_[neediest].bytes) neediest = k;
  }
  group_.neediest = members_[neediest].command->op->name();
  group_.early_deletes.assign(early_.begin(), early_.begin() + static_cast<std::ptrdiff_t>(last.early_so_far));
  group_.commands = last.commands;
  group_.members = count;
}

const Op& Fusion::program_for(std::size_t count, std::span<Value* const> slots) {
  key_.clear();
  key_.push_back(inputs_.size() << 32 | count);
  for (SlotIndex slot : inputs_) key_.push_back(static_cast<std::uint64_t>(slots[slot]->desc.dtype));
  for (std::size_t k = 0; k < count; ++k) {
    const Member& member = members_[k];
    const Op& op = *member.command->op;
    std::uint64_t wiring = static_cast<std::uint64_t>(op.record().index) << 1 | member.live;
    for (std::size_t i = 0; i < member.arity; ++i) wiring = wiring << 10 | member.args[i];
    key_.push_back(wiring);
    key_.push_back(op.attrs().hash());
  }
  const std::uint64_t hash = hash_bytes(key_.data(), key_.size() * sizeof(key_[0]));
  const auto found = programs_.find(hash);
  if (found != programs_.end() && found->second.key == key_) {
    bool same = true;
    for (std::size_t k = 0; k < count; ++k) same = same && found->second.attrs[k] == members_[k].command->op->attrs();
    if (same) return found->second.op;
  }
  if (programs_.size() >= most_programs) programs_.clear();
  Program program{key_, {}, make_program(count)};
  for (std::size_t k = 0; k < count; ++k) program.attrs.push_back(members_[k].command->op->attrs());
  return programs_.insert_or_assign(hash, std::move(program)).first->second.op;
}

Op Fusion::make_program(std::size_t count) const {
  kernels::TileProgram program;
  program.inputs = static_cast<std::uint16_t>(inputs_.size());
  std::vector<Op> ops;
  for (std::size_t k = 0; k < count; ++k) {
    const Member& member = members_[k];
    kernels::TileStep step{.kernel = member.kernel, .dtype = member.command->outputs[0].desc.dtype, .arity = member.arity};
    for (std::size_t i = 0; i < member.arity; ++i) {
      const bool inner = member.args[i] >= results;
      step.args[i] = static_cast<std::uint16_t>(inner ? member.args[i] - results + program.inputs : member.args[i]);
    }
    program.steps.push_back(step);
    if (member.live) program.outputs.push_back(static_cast<std::uint16_t>(program.inputs + k));
    ops.push_back(*member.command->op);
  }
  const OpRecord& record = record_of<"fused">();
  return Op(record, Attrs(record.name, record.attributes, {}, std::make_shared<const FusedObject>(std::move(program), std::move(ops))));
}

}  // namespace regrow::runtime
