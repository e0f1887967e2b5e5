// SPDX-License-Identifier: Apache-2.0
// What happened between two ends of steps, as a trace that the planner replays. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "regrow/remat/settings.h"
#include "regrow/remat/trace.h"

namespace regrow {

struct RecordedStep {
  remat::Trace trace;            // what stood in memory when it began counts as put
  std::uint64_t number = 0;      // of the step: how many ended before it
  std::uint64_t likeness = 0;    // equal for steps of equal operations, under equal budgets
  std::size_t budget_bytes = 0;  // of cpu:0; 0: none
  double seconds = 0;            // from end to end
};

// Which steps are worth recording.
struct StepWanted {
  bool settled = false;      // only one whose operations are those of the step before
  std::uint64_t unlike = 0;  // not one of this likeness
  std::uint64_t skip = 0;    // so many are passed over first
};

// Gets the step, on the worker: like a callback, it may not use the channel.
using StepTaker = std::function<void(const RecordedStep&)>;

// What replaying a step has found to be best for the policy next-use, which alone takes it.
struct PolicyTuning {
  remat::NextUseSettings settings;
  std::size_t budget_bytes = 0;  // of cpu:0, that it was found for: under another one it is passed over
  std::size_t mark = 0;          // bytes that evictions keep to where they can, below the budget; 0: the budget
};

}  // namespace regrow
