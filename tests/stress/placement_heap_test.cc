// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <thread>

#include "tests/stress/malloc_counter.h"
#include "tests/stress/placed_arena.h"

namespace regrow::stress {
namespace {

TEST(ArenaStress, ARepeatedStepNeedsNoHeap) {
  TrainedArena trained;
  std::uint64_t allocations = 1;
  std::thread worker([&] {  // only what other threads than the main one allocate is counted
    trained.step();
    count_allocations(true);
    for (int i = 0; i < 20; ++i) trained.step();
    allocations = allocations_elsewhere();
    count_allocations(false);
  });
  worker.join();
  EXPECT_EQ(allocations, 0u);
}

}  // namespace
}  // namespace regrow::stress
