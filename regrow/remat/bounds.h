// SPDX-License-Identifier: Apache-2.0
// What no policy can beat: the smallest budget in which a trace's operations run at all, and the least time of recomputation in a
// budget. Any thread.
#pragma once

#include <cstddef>

#include "regrow/remat/trace.h"

namespace regrow::remat {

// Most of: what is pinned (sources, `pin`) and the distinct inputs, outputs and workspace of an operation. `rounded`: as blocks occupy it.
std::size_t floor_bytes(const Trace& trace, bool rounded);

// With a disk sources go as well: what is pinned, the distinct operands of an operation, workspace and staging. Above it every budget is
// enough; each small block counts as a slab of its own.
std::size_t floor_with_disk(const Trace& trace, std::size_t staging);

// A lower bound of the overhead (0.1: 10 % more operator time) of any recomputation that keeps the program's order: at each operation what
// is alive beyond the budget must be made again later; the cheapest choice of it, in fractions (a knapsack), bounds it from below.
// Infinite if not even everything that may go makes enough room. Exact bytes.
double lower_bound(const Trace& trace, std::size_t budget);

}  // namespace regrow::remat
