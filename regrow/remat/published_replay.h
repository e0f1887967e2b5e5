// SPDX-License-Identifier: Apache-2.0
// Replays a trace by the rules of the simulator that was published with DTR (RuntimeV2EagerOptimized): for checking policies against
// known figures. One thread.
//
// Its rules: what an operation lacks is recomputed by recursion, everything on the way locked, and kept; views are tensors of their
// own that run again, one by one, when their storage was evicted; a storage costs what its tensors' distinct operators cost; a
// released storage is evicted at once and its recipe kept for ever; constants and pinned storages never go; bytes are exact and
// nothing else is charged.
#pragma once

#include <cstddef>

#include "regrow/machine/policy.h"
#include "regrow/remat/outcome.h"
#include "regrow/remat/trace.h"

namespace regrow::remat {

// 0: no budget. A single device.
Outcome replay_published(const Trace& trace, machine::Policy& policy, std::size_t budget);

}  // namespace regrow::remat
