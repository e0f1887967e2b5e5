// SPDX-License-Identifier: Apache-2.0
// What a channel's memory on one device looks like at a place in its stream. Bytes. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace regrow {

struct MemoryReport {
  std::size_t budget_bytes = 0;      // 0: no budget
  std::size_t live_bytes = 0;        // tensors that are resident, as they occupy the arena
  std::size_t peak_bytes = 0;        // most of live tensors + workspace since the last reset
  std::size_t peak_tensor_bytes = 0; // of the live tensors alone, while an operation ran
  std::size_t committed_bytes = 0;   // pages that the arena holds, recycled ones included
  std::size_t peak_committed_bytes = 0;
  std::size_t workspace_bytes = 0;   // largest of an operation since the last reset
  std::size_t operation_bytes = 0;   // largest working set of one since then: distinct inputs, outputs and workspace
  std::size_t largest_hole_bytes = 0;
  std::size_t swapped_bytes = 0;     // outside the budget: in the spill directory, or on the host where none is set
  std::size_t staging_bytes = 0;     // buffer of the spill directory: part of committed_bytes and of peak_bytes
  std::uint64_t spilled_bytes = 0;   // written to spill directories so far
  std::size_t live_tensors = 0, ghosts = 0;
  std::uint64_t operators = 0;       // applied, fused ones counted each
  std::uint64_t recomputed_ops = 0, evictions = 0;
  double recompute_seconds = 0;
  double decision_us_median = 0, decision_us_p99 = 0;  // of choosing one victim
  double decision_seconds = 0;                         // of all that the policy did, estimated from a sample
  std::uint64_t steps = 0;                             // that have ended
  std::uint64_t tuned_step = 0;                        // at whose end a tuning took effect first; 0: none has
  double stall_seconds = 0;          // that the worker waited for the spill directory
};

}  // namespace regrow
