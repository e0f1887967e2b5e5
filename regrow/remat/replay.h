// SPDX-License-Identifier: Apache-2.0
// Drives the machine by a trace instead of by kernels: every action is answered at once, an operation takes what the trace says. One
// thread; replays are independent of each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "regrow/machine/machine.h"
#include "regrow/remat/disk.h"
#include "regrow/remat/outcome.h"
#include "regrow/remat/trace.h"

namespace regrow::remat {

class Replay {
 public:
  // `policy` outlives it; null: nothing is evicted. `budget` 0: none; of each device that the trace names.
  Replay(const Trace& trace, machine::Policy* policy, std::size_t budget, const Disk& disk = {});

  Outcome run();
  // One command further; false when there is none, or the replay has failed.
  bool step();
  std::size_t position() const noexcept { return at_; }  // commands carried out
  const machine::Machine& machine() const noexcept { return machine_; }
  // What became of each command's outputs: how often they were evicted, and how often it ran again.
  struct Again {
    std::uint32_t evictions = 0, runs = 0;
  };
  std::span<const Again> again() const noexcept { return again_; }
  const Outcome& outcome() const noexcept { return outcome_; }

 private:
  void carry_out(const TraceCommand& command);
  void apply(const TraceCommand& command);
  void want(const TraceCommand& command);
  void drive();
  machine::Completion answer(const machine::Action& action);
  machine::Completion transfer(const machine::Action& action);

  const Trace& trace_;
  Disk disk_;
  machine::Machine machine_;
  Outcome outcome_;
  std::size_t at_ = 0;
  std::vector<machine::OutputSpec> outputs_;
  std::vector<Again> again_;
  std::vector<machine::Payload> maker_;  // by storage
};

Outcome replay(const Trace& trace, machine::Policy* policy, std::size_t budget, const Disk& disk = {});

}  // namespace regrow::remat
