// SPDX-License-Identifier: Apache-2.0
// What the machine decides, carried out on real bytes.
#include <fmt/format.h>

#include <cstring>

#include "regrow/base/clock.h"
#include "regrow/base/hash.h"
#include "regrow/base/log.h"
#include "regrow/base/units.h"
#include "regrow/memory/system_memory.h"
#include "regrow/ops/callback.h"
#include "regrow/ops/var.h"
#include "regrow/runtime/executor.h"
#include "regrow/runtime/process.h"
#include "regrow/tensor/walk.h"

namespace regrow::runtime {
namespace {

bool is_callback(const Operation& operation) { return &operation.op->record() == &record_of<"callback">(); }

std::string inputs_text(const Operation& operation) {
  std::string text;
  for (const Value* value : operation.inputs) text += (text.empty() ? "" : ", ") + to_string(value->desc);
  return text.empty() ? text : fmt::format(" (inputs: {})", text);
}

std::string name_of(const Operation& operation) {
  std::string name(operation.op->name());
  if (operation.op->attrs().object()) name += fmt::format(" ({})", operation.op->attrs().object()->text());
  return name;
}

// Elements row-major into a layout of any strides.
void scatter(const HostArray& from, const Desc& to, std::byte* data) {
  if (from.bytes() == 0) return;
  if (to.contiguous()) {
    std::memcpy(data, from.data(), from.bytes());
    return;
  }
  const std::size_t size = size_of(to.dtype);
  const std::byte* element = from.data();
  walk<1>(to.shape, {to.strides}, [&](std::int64_t offset) {
    std::memcpy(data + offset * static_cast<std::int64_t>(size), element, size);
    element += size;
  });
}

}  // namespace

void Executor::drive(const Command& command) {
  while (const Action* action = machine_.next()) machine_.done(act(*action, command));
}

machine::Completion Executor::act(const Action& action, const Command& command) {
  using Kind = Action::Kind;
  switch (action.kind) {
    case Kind::run: return run(action);
    case Kind::pages: return pages(action);
    case Kind::fill: fill(action, command); return {};
    case Kind::measure: return measure(action);
    case Kind::swap_out: return swap_out(action);
    case Kind::swap_in: return swap_in(action);
    case Kind::refuse: return refuse(action, command);
    case Kind::forget_swap: forget_copy(action.operand.storage); return {};
    case Kind::write_ahead:
    case Kind::read_ahead: return begin_ahead(action);
    case Kind::await: return await(action);
    case Kind::cancel: cancel(action); return {};
    case Kind::released: released(action); return {};
    case Kind::erased: erased(action); return {};
    case Kind::retired: operations_.retire(action.payload); return {};
  }
  return {};
}

machine::Completion Executor::pages(const Action& action) {
  last_end_ns_ = 0;
  try {
    memory_->carry_out(action.device, action.page);
    return {};
  } catch (...) {
    no_pages_ = std::current_exception();
    return {.error = 1};
  }
}

std::byte* Executor::base_of(const machine::Operand& operand) {
  if (operand.foreign) return storage(operand.storage).foreign_base;
  return memory_->at(operand.device, operand.place);
}

void Executor::views_of(std::span<const machine::Operand> operands, std::span<Value* const> values, std::vector<View>& out) {
  out.clear();
  // No operands: only shapes are read (reads_values).
  for (std::size_t i = 0; i < values.size(); ++i)
    out.push_back({&values[i]->desc, operands.empty() ? nullptr : base_of(operands[i]) + values[i]->offset});
}

machine::Completion Executor::run(const Action& action) {
  Operation& operation = operations_[action.payload];
  const std::uint64_t begin = last_end_ns_ != 0 ? last_end_ns_ : now_ns();
  if (watch_) [[unlikely]] announce_run(operation, action, true);
  machine::Completion completion;
  try {
    compute(operation, action);
    if (options_.verify != 0) [[unlikely]] verify(operation, action);
  } catch (...) {
    completion.error = fail(failure_of(operation));
    if (action.regrow) regrowing_failed_ = true, errors_.retain(completion.error);
    else last_error_ = completion.error;
  }
  last_end_ns_ = now_ns();
  completion.seconds = 1e-9 * static_cast<double>(last_end_ns_ - begin);
  if (!action.regrow) last_run_seconds_ = completion.seconds;
  if (watch_) [[unlikely]] announce_run(operation, action, false), last_end_ns_ = 0;
  for (std::size_t k = 0; completion.error == 0 && k < operation.outputs.size(); ++k)
    if (!operation.outputs[k]->is_view() && action.outputs[k].storage != machine::no_storage)
      made(action.outputs[k], *operation.outputs[k]);
  return completion;
}

void Executor::compute(Operation& operation, const Action& action) {
  const OpRecord& record = operation.op->record();
  views_of(action.outputs, operation.outputs, out_views_);
  if (!operation.returned.empty()) {
    for (std::size_t i = 0; i < out_views_.size(); ++i) scatter(operation.returned[i], *out_views_[i].desc, out_views_[i].data);
    operation.returned.clear();
    return;
  }
  views_of(action.inputs, operation.inputs, in_views_);
  std::byte* workspace = action.workspace.bytes == 0 ? nullptr : memory_->at(action.device, action.workspace);
  if (is_callback(operation)) {
    const CallbackScope scope;
    regrow::compute(*operation.op, in_views_, out_views_, operation.random, {});
  } else {
    regrow::compute(*operation.op, in_views_, out_views_, operation.random, {workspace, action.workspace.bytes});
  }
  operator_has_run(record.index, in_views_.empty() ? 0 : static_cast<std::uint32_t>(in_views_[0].desc->dtype));
}

// The first time what an operation makes is hashed, from then on compared.
void Executor::verify(const Operation& operation, const Action& action) {
  for (std::size_t k = 0; k < operation.outputs.size(); ++k) {
    if (operation.outputs[k]->is_view() || action.outputs[k].storage == machine::no_storage) continue;
    const std::uint64_t hash = hash_bytes(base_of(action.outputs[k]), operation.outputs[k]->storage_bytes) | 1;
    std::uint64_t& first = storage(action.outputs[k].storage).hash;
    if (!action.regrow) first = hash;
    require(first == 0 || first == hash, "run again, it gave other bits than the first time");
  }
}

// The first pass of an operation whose shapes depend on values. A callback has run when they are known: what it returned is kept.
machine::Completion Executor::measure(const Action& action) {
  Operation& operation = operations_[action.payload];
  const std::size_t count = operation.outputs.size();
  try {
    views_of(action.inputs, operation.inputs, in_views_);
    inferred_.clear();
    for (const Value* value : operation.outputs) inferred_.emplace_back(value->desc);
    if (is_callback(operation)) {
      std::vector<HostArray> in;
      std::vector<const Desc*> promised;
      for (const View& view : in_views_) in.push_back(HostArray::gather(view));
      for (const Value* value : operation.outputs) promised.push_back(&value->desc);
      const CallbackScope scope;
      operation.returned = callback_of(operation.op->attrs()).call(in, promised);
      for (std::size_t k = 0; k < count; ++k) {
        inferred_[k].shape = operation.returned[k].shape();
        inferred_[k].strides = contiguous_strides(inferred_[k].shape);
      }
    } else {
      require(operation.op->record().measure, "its shape was left open, but it cannot be measured");
      operation.op->record().measure(in_views_, operation.op->attrs(), inferred_);
    }
  } catch (...) {
    last_error_ = fail(failure_of(operation));
    return {.error = last_error_};
  }
  sizes_.clear();
  for (std::size_t k = 0; k < count; ++k) {
    inferred_[k].known = true;
    operation.outputs[k]->describe(inferred_[k]);
    sizes_.push_back(operation.outputs[k]->storage_bytes);
    watch_.emit({.kind = EventKind::shape_inferred, .flag = true, .device = action.device, .id = operation.id,
                 .tensor = operation.outputs[k]->tensor, .name = operation.op->name(), .desc = &operation.outputs[k]->desc});
  }
  last_end_ns_ = 0;
  machine::Completion completion{.sizes = sizes_};
  if (operation.op->record().workspace) {
    in_descs_.clear(), out_descs_.clear();
    for (const Value* value : operation.inputs) in_descs_.push_back(&value->desc);
    for (const Value* value : operation.outputs) out_descs_.push_back(&value->desc);
    completion.workspace = workspace_bytes(*operation.op, in_descs_, out_descs_);
  }
  return completion;
}

Failure Executor::failure_of(const Operation& operation) const {
  Failure failure{.site = operation.site, .cause = std::current_exception()};
  const std::string text = text_of(failure.cause);
  const bool named = text.starts_with(fmt::format("{}: ", operation.op->name()));
  failure.message = (named ? text : fmt::format("{}: {}", name_of(operation), text)) + inputs_text(operation);
  return failure;
}

machine::Completion Executor::refuse(const Action& action, const Command& command) {
  std::string what(command_name(command));
  if (command.kind == Command::Kind::apply) {
    what = std::string(neediest_.empty() ? operations_[current_].op->name() : neediest_) + inputs_text(operations_[current_]);
  }
  const std::size_t budget = machine_.usage(action.device).budget_bytes;
  Failure failure{.site = command.site, .out_of_budget = true, .required = action.required, .smallest = action.smallest};
  if (action.no_pages) {
    failure = {.message = fmt::format("{}: {}", what, text_of(no_pages_)), .site = command.site, .cause = no_pages_};
  } else if (command.kind == Command::Kind::set_budget) {
    failure.message = fmt::format("set_memory_budget: {} of {} are held and cannot go, more than {}", format_bytes(action.required),
                                  to_string(Device(action.device)), format_bytes(command.value));
  } else if (budget == 0 || budget > memory::system_memory_bytes()) {
    failure.message = fmt::format("{}: {} do not fit {}: the system has {} for it", what, format_bytes(action.required),
                                  to_string(Device(action.device)), format_bytes(memory::system_memory_bytes()));
  } else {
    failure.message = fmt::format("{}: {} do not fit the memory budget of {}, {}; {} would do", what, format_bytes(action.required),
                                  to_string(Device(action.device)), format_bytes(budget), format_bytes(action.smallest));
  }
  using Kind = Command::Kind;
  last_error_ = fail(std::move(failure), command.kind == Kind::apply || command.kind == Kind::put);
  return {.error = last_error_};
}

void Executor::fill(const Action& action, const Command& command) {
  const Value& value = *slots_[command.outputs[0].slot];
  scatter(command.host, value.desc, base_of(action.operand) + value.offset);
  made(action.operand, value);
  last_end_ns_ = 0;
}

}  // namespace regrow::runtime
