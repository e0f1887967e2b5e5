// SPDX-License-Identifier: Apache-2.0
#include "regrow/remat/replay.h"

#include <algorithm>

namespace regrow::remat {

using machine::Action;

Replay::Replay(const Trace& trace, machine::Policy* policy, std::size_t budget, const Disk& disk)
    : trace_(trace), disk_(disk), machine_({.devices = trace.devices(), .policy = policy}), again_(trace.commands().size()) {
  outcome_.own_seconds = trace.seconds();
  if (disk_) {
    machine_.set_spill(true, disk_.staging_bytes);
    drive();
  }
  for (std::uint8_t device = 0; budget > 0 && device < trace.devices(); ++device) {
    machine_.set_budget(device, budget);
    drive();
  }
}

Outcome Replay::run() {
  while (step()) {
  }
  outcome_.evictions = machine_.counters().evicted;
  outcome_.recomputed = machine_.counters().recomputed;
  outcome_.peak_bytes = 0;
  for (std::uint8_t device = 0; device < trace_.devices(); ++device) outcome_.peak_bytes += machine_.usage(device).peak_bytes;
  return outcome_;
}

bool Replay::step() {
  if (outcome_.status != Status::ok || at_ == trace_.commands().size()) return false;
  carry_out(trace_.commands()[at_]);
  ++at_;
  if (outcome_.status == Status::ok && outcome_.seconds > thrash_factor * outcome_.own_seconds) outcome_.status = Status::thrash;
  return true;
}

void Replay::carry_out(const TraceCommand& command) {
  using Kind = TraceCommand::Kind;
  switch (command.kind) {
    case Kind::put: machine_.put(command.first, command.device, command.bytes); break;
    case Kind::apply: return apply(command);
    case Kind::release: machine_.del(command.first); break;
    case Kind::want:
    case Kind::pin: return want(command);
  }
  drive();
}

void Replay::apply(const TraceCommand& command) {
  outputs_.clear();
  bool runs = command.output_count == 0;
  machine::Slot slot = command.first;
  for (const TraceOutput& output : trace_.outputs(command)) {
    outputs_.push_back({.slot = slot++, .view_of = output.view_of, .bytes = output.bytes, .reuse = output.reuse});
    runs = runs || output.view_of < 0;
  }
  machine_.apply({.payload = static_cast<machine::Payload>(at_),
                  .key = command.key,
                  .device = command.device,
                  .replayable = command.replayable,
                  .fallible = command.fallible,
                  .state = command.state,
                  .inputs = trace_.inputs(command),
                  .outputs = outputs_,
                  .deletes = trace_.deletes(command),
                  .workspace = command.bytes});
  drive();
  if (!runs) outcome_.seconds += command.seconds;  // what it took to make views
}

void Replay::want(const TraceCommand& command) {
  machine_.fetch(command.first);
  drive();
  if (outcome_.status != Status::ok || command.kind != TraceCommand::Kind::pin) return;
  machine_.export_storage(command.first);
  drive();
}

void Replay::drive() {
  while (const Action* action = machine_.next()) machine_.done(answer(*action));
}

machine::Completion Replay::answer(const Action& action) {
  if (action.kind == Action::Kind::refuse) {
    outcome_.status = Status::infeasible;
    return {.error = 1};
  }
  if (action.kind == Action::Kind::released && action.why == Action::Why::evicted) ++again_[maker_[action.operand.storage]].evictions;
  if (action.kind == Action::Kind::swap_out || action.kind == Action::Kind::swap_in) return transfer(action);
  if (action.kind != Action::Kind::run) return {};
  const TraceCommand& command = trace_.commands()[action.payload];
  outcome_.seconds += command.seconds;
  if (action.regrow) ++again_[action.payload].runs;
  for (std::size_t k = 0; !action.regrow && k < action.outputs.size(); ++k) {
    if (trace_.outputs(command)[k].view_of >= 0) continue;
    const machine::StorageId id = action.outputs[k].storage;
    if (id >= maker_.size()) maker_.resize(id + std::size_t{1});
    maker_[id] = action.payload;
  }
  return {.seconds = command.seconds};
}

machine::Completion Replay::transfer(const Action& action) {
  const auto bytes = static_cast<double>(action.operand.place.bytes);
  const bool out = action.kind == Action::Kind::swap_out;
  const double seconds = bytes / (out ? disk_.write_bytes_per_second : disk_.read_bytes_per_second);
  outcome_.seconds += seconds;
  outcome_.transfer_seconds += seconds;
  if (out) outcome_.spilled_bytes += action.operand.place.bytes;
  return {.seconds = seconds};
}

Outcome replay(const Trace& trace, machine::Policy* policy, std::size_t budget, const Disk& disk) {
  return Replay(trace, policy, budget, disk).run();
}

}  // namespace regrow::remat
