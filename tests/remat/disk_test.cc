// SPDX-License-Identifier: Apache-2.0
// Replays that may write out: the floor, every budget above it, and the choice between writing and computing again.
#include <gtest/gtest.h>

#include <memory>

#include "regrow/machine/machine.h"
#include "regrow/remat/bounds.h"
#include "regrow/remat/next_use.h"
#include "regrow/remat/planner.h"
#include "regrow/remat/policies.h"
#include "regrow/remat/replay.h"
#include "tests/remat/traces.h"

namespace regrow::remat {
namespace {

constexpr std::size_t KiB = 1024, MiB = 1024 * KiB;
constexpr Disk fast{.write_bytes_per_second = 1e12, .read_bytes_per_second = 1e12, .staging_bytes = 256 * KiB};
constexpr Disk slow{.write_bytes_per_second = 5e7, .read_bytes_per_second = 5e7, .staging_bytes = 256 * KiB};

std::unique_ptr<machine::Policy> policy_for(std::string_view name, const Trace& trace) {
  auto policy = make_policy(name);
  if (auto* foretold = dynamic_cast<NextUsePolicy*>(policy.get())) foretold->learn(trace);
  return policy;
}

// Source 1 MiB, a 2 MiB from it with 3 MiB of workspace, b 1 MiB from both: a takes most. A small one counts as a slab.
TEST(Disk, TheFloorIsTheLargestOperationWithStaging) {
  Trace trace;
  const TensorId s = trace.put(MiB);
  const TraceOutput output{.bytes = 2 * MiB};
  const TensorId a = trace.apply({.name = "a", .key = 1, .seconds = 1, .workspace = 3 * MiB, .inputs = {&s, 1}, .outputs = {&output, 1}});
  run_one(trace, "b", 2, 1, {s, a}, MiB);
  EXPECT_EQ(floor_with_disk(trace, 0), 6 * MiB);
  EXPECT_EQ(floor_with_disk(trace, 256 * KiB), 6 * MiB + 256 * KiB);
  const TensorId tiny = trace.put(8);
  run_one(trace, "c", 3, 1, {tiny, a, s}, 3 * MiB);
  EXPECT_EQ(floor_with_disk(trace, 0), 6 * MiB + 128 * KiB);
}

TEST(Disk, EveryBudgetFromTheFloorOnIsEnoughForEveryPolicy) {
  const Trace trace = training(8, 2);
  const std::size_t floor = floor_with_disk(trace, fast.staging_bytes), peak = replay(trace, nullptr, 0).peak_bytes;
  ASSERT_LT(2 * floor, peak);
  EXPECT_LT(floor, floor_bytes(trace, true)) << "sources may go";
  for (std::string_view name : policies) {
    for (std::size_t budget = floor; budget < peak; budget += (peak - floor) / 12) {
      const Outcome outcome = replay(trace, policy_for(name, trace).get(), budget, fast);
      EXPECT_EQ(outcome.status, Status::ok) << name << " in " << budget;
      EXPECT_LE(outcome.peak_bytes, budget) << name;
      EXPECT_TRUE(outcome.spilled_bytes > 0 || budget > floor) << name;
    }
    const Outcome below = replay(trace, policy_for(name, trace).get(), floor - 64 * KiB, fast);
    EXPECT_EQ(below.status, Status::infeasible) << name;
  }
}

TEST(Disk, WhatIsCheaperIsChosen) {
  const Trace trace = training(8, 2);
  const std::size_t budget = replay(trace, nullptr, 0).peak_bytes / 2;
  const Outcome written = replay(trace, policy_for("next-use", trace).get(), budget, fast);
  EXPECT_LT(written.overhead(), 0.02);
  const Outcome computed = replay(trace, policy_for("next-use", trace).get(), budget, slow);
  EXPECT_GT(computed.recomputed, 2 * written.recomputed);
  EXPECT_GT(written.spilled_bytes, 4 * computed.spilled_bytes) << "before it was known how slow it is";
  EXPECT_EQ(computed.status, Status::ok);
}

TEST(Disk, APlanWithADiskIsNeverInfeasible) {
  const Trace trace = training(6, 2);
  PlanQuestion question;
  question.ratios = {0.3, 0.5, 0.8};
  question.policies = {"next-use"};
  question.disk = fast;
  const PlanAnswer answer = plan(trace, question);
  for (const PlanResult& result : answer.results) EXPECT_EQ(result.outcome.status, Status::ok) << result.ratio;
  EXPECT_EQ(answer.smallest.at(0).budget_bytes, answer.floor_bytes);
}

}  // namespace
}  // namespace regrow::remat
