// SPDX-License-Identifier: Apache-2.0
// Counts heap allocations of every thread but the main one, by standing in for malloc (the executable's definition comes first).
#pragma once

#include <cstdint>

namespace regrow::stress {

// Between these two calls allocations on other threads are counted.
void count_allocations(bool on);
std::uint64_t allocations_elsewhere();

// Blocks of at most 256 bytes taken while `predicate` holds on the thread are counted apart: a library's that cannot be told otherwise.
void excuse_allocations(bool (*predicate)());
std::uint64_t excused_allocations();

}  // namespace regrow::stress
