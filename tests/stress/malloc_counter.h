// SPDX-License-Identifier: Apache-2.0
// Counts heap allocations of every thread but the main one, by standing in for malloc (the executable's definition comes first).
#pragma once

#include <cstdint>

namespace regrow::stress {

// Between these two calls allocations on other threads are counted.
void count_allocations(bool on);
std::uint64_t allocations_elsewhere();

}  // namespace regrow::stress
