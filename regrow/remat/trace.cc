// SPDX-License-Identifier: Apache-2.0
#include "regrow/remat/trace.h"

#include <algorithm>

namespace regrow::remat {

TensorId Trace::put(std::uint64_t bytes, std::uint8_t device) {
  commands_.push_back({.kind = TraceCommand::Kind::put, .device = device, .first = tensors_, .bytes = bytes});
  devices_ = std::max<std::uint8_t>(devices_, device + 1);
  return tensors_++;
}

TensorId Trace::apply(const Operation& operation) {
  TraceCommand command{.device = operation.device,
                       .replayable = operation.replayable,
                       .fallible = operation.fallible,
                       .state = operation.state,
                       .name = name_id(operation.name),
                       .first = tensors_,
                       .key = operation.key,
                       .bytes = operation.workspace,
                       .seconds = operation.seconds};
  command.inputs = static_cast<std::uint32_t>(ids_.size());
  command.input_count = static_cast<std::uint32_t>(operation.inputs.size());
  ids_.insert(ids_.end(), operation.inputs.begin(), operation.inputs.end());
  command.deletes = static_cast<std::uint32_t>(ids_.size());
  command.delete_count = static_cast<std::uint32_t>(operation.deletes.size());
  ids_.insert(ids_.end(), operation.deletes.begin(), operation.deletes.end());
  command.outputs = static_cast<std::uint32_t>(outputs_.size());
  command.output_count = static_cast<std::uint32_t>(operation.outputs.size());
  outputs_.insert(outputs_.end(), operation.outputs.begin(), operation.outputs.end());
  commands_.push_back(command);
  devices_ = std::max<std::uint8_t>(devices_, operation.device + 1);
  ++operations_;
  tensors_ += command.output_count;
  return command.first;
}

void Trace::add(TraceCommand::Kind kind, TensorId tensor) { commands_.push_back({.kind = kind, .first = tensor}); }

void Trace::clear() { *this = Trace{}; }

double Trace::seconds() const noexcept {
  double sum = 0;
  for (const TraceCommand& command : commands_) sum += command.seconds;
  return sum;
}

// Linear: a program has some dozens of names.
std::uint32_t Trace::name_id(std::string_view name) {
  const auto id = static_cast<std::uint32_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
  if (id == names_.size()) names_.emplace_back(name);
  return id;
}

}  // namespace regrow::remat
