// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "regrow/base/error.h"

namespace regrow::kernels {
namespace {

class ParallelFor : public ::testing::Test {
 protected:
  void TearDown() override { set_kernel_threads(before_); }
  int before_ = kernel_threads();
};

TEST_F(ParallelFor, CoversTheRangeOnceAtAnyNumberOfThreads) {
  for (int threads : {1, 2, 4}) {
    set_kernel_threads(threads);
    EXPECT_EQ(kernel_threads(), threads);
    for (std::int64_t count : {0, 1, 7, 100, 1001}) {
      for (std::int64_t grain : {1, 10, 5000}) {
        std::vector<std::atomic<int>> met(static_cast<std::size_t>(count));
        parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
          EXPECT_LT(begin, end);
          for (std::int64_t i = begin; i < end; ++i) met[static_cast<std::size_t>(i)].fetch_add(1);
        });
        for (const std::atomic<int>& times : met) ASSERT_EQ(times.load(), 1);
      }
    }
  }
}

TEST_F(ParallelFor, PiecesAreNoSmallerThanTheGrain) {
  set_kernel_threads(3);
  parallel_for(1000, 64, [](std::int64_t begin, std::int64_t end) { EXPECT_TRUE(end - begin >= 64 || end == 1000); });
}

TEST_F(ParallelFor, InsideALoopIsAPlainLoop) {
  set_kernel_threads(2);
  std::atomic<int> total = 0;
  parallel_for(8, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::thread::id self = std::this_thread::get_id();
      parallel_for(100, 1, [&](std::int64_t b, std::int64_t e) {
        EXPECT_EQ(std::this_thread::get_id(), self);
        total += static_cast<int>(e - b);
      });
    }
  });
  EXPECT_EQ(total, 800);
}

TEST_F(ParallelFor, FromSeveralThreadsAtOnceAndWhileTheNumberChanges) {
  set_kernel_threads(2);
  std::atomic<std::int64_t> total = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 3; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round)
        parallel_for(64, 1, [&](std::int64_t begin, std::int64_t end) { total += end - begin; });
    });
  for (int threads : {3, 1, 2, 4}) set_kernel_threads(threads);
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, 3 * 200 * 64);
}

TEST_F(ParallelFor, NeedsAtLeastOneThread) { EXPECT_THROW(set_kernel_threads(0), Error); }

// A child of fork has none of the threads; it computes by itself, and may change the number.
TEST_F(ParallelFor, ComputesAloneInAForkedChild) {
  set_kernel_threads(2);
  std::atomic<std::int64_t> total = 0;
  const auto add = [&](std::int64_t begin, std::int64_t end) { total += end - begin; };
  parallel_for(1000, 1, add);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    parallel_for(1000, 1, add);
    set_kernel_threads(3);
    parallel_for(1000, 1, add);
    _exit(total == 3000 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace regrow::kernels
