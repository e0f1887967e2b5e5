// SPDX-License-Identifier: Apache-2.0
// Traces as files, bounds by hand, and what plans promise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "regrow/base/error.h"
#include "regrow/remat/bounds.h"
#include "regrow/remat/explain.h"
#include "regrow/remat/planner.h"
#include "regrow/remat/policies.h"
#include "regrow/remat/replay.h"
#include "tests/remat/published_logs.h"
#include "tests/remat/traces.h"

namespace regrow::remat {
namespace {

std::string text_of(const Trace& trace) {
  std::ostringstream out;
  write_trace(trace, out);
  return out.str();
}

std::string error_of(const std::string& text) {
  try {
    parse_trace(text, "t");
    return "";
  } catch (const Error& error) {
    return error.message();
  }
}

TEST(TraceFile, WhatIsWrittenIsReadBackTheSame) {
  const Trace trace = training(5, 2);
  const std::string text = text_of(trace);
  const Trace back = parse_trace(text, "t");
  EXPECT_EQ(text_of(back), text);
  EXPECT_EQ(back.operations(), trace.operations());
  EXPECT_NEAR(back.seconds(), trace.seconds(), 1e-12);
}

TEST(TraceFile, ErrorsNameTheLine) {
  EXPECT_EQ(error_of("regrow-trace 1\nput 8 0\nrelease 1\n"), "trace: t:3: tensor 1 is not there");
  EXPECT_EQ(error_of("regrow-trace 1\nput 8 0\nrelease 0\nwant 0\n"), "trace: t:4: tensor 0 is not there");
  EXPECT_EQ(error_of("regrow-trace 1\nput x 0\n"), "trace: t:2: 'x' is not a number that fits");
  EXPECT_EQ(error_of("regrow-trace 1\nput\n"), "trace: t:2: a field is missing");
  EXPECT_EQ(error_of("regrow-trace 1\nsing 3\n"), "trace: t:2: 'sing' is not a command");
  EXPECT_EQ(error_of("regrow-trace 1\nput 8 0\nop f 1 1 0 0 r 1 0 1 8 3 0 0\n"), "trace: t:3: a view of no input");
  EXPECT_THAT(error_of("regrow-trace 2\n"), ::testing::HasSubstr("a version that this program does not know"));
  EXPECT_EQ(error_of("K 0 8\nC 1 1 7 0 f\n"), "trace: t:2: tensor 7 is not there");
}

// Source 64 KiB; a (1 s, 128 KiB), b (4 s, 128 KiB) from it, c = f(a) (1 s, 64 KiB), then d = g(c, a, b) (1 s, 64 KiB).
Trace diamond() {
  constexpr std::uint64_t k = 1 << 16;
  Trace trace;
  const TensorId s = trace.put(k);
  const TensorId a = run_one(trace, "a", 1, 1, {s}, 2 * k);
  const TensorId b = run_one(trace, "b", 2, 4, {s}, 2 * k);
  const TensorId c = run_one(trace, "c", 3, 1, {a}, k);
  run_one(trace, "d", 4, 1, {c, a}, k, {c, a});
  run_one(trace, "e", 5, 1, {b}, k, {b});
  return trace;
}

TEST(Bounds, TheFloorIsWhatIsPinnedAndTheLargestOperation) {
  EXPECT_EQ(floor_bytes(diamond(), false), 5u << 16) << "the source, and d with c and a";
}

TEST(Bounds, TheLowerBoundIsAFractionalKnapsack) {
  // Alive at d: source, a, b, c, d: 7 units. All but b are its own operands. In six units half of b (2 s) must come back, of 8 s.
  EXPECT_EQ(lower_bound(diamond(), 7u << 16), 0);
  EXPECT_NEAR(lower_bound(diamond(), 6u << 16), 2.0 / 8, 1e-12);
  EXPECT_NEAR(lower_bound(diamond(), 5u << 16), 4.0 / 8, 1e-12);
  EXPECT_EQ(lower_bound(diamond(), 4u << 16), std::numeric_limits<double>::infinity());
}

TEST(Plan, ReplayReachesTheBoundWhereTheChoiceIsForced) {
  PlanQuestion question;
  question.budgets = {5u << 16, 7u << 16, 3u << 16};
  question.policies = {"next-use"};
  const PlanAnswer answer = plan(diamond(), question);
  ASSERT_EQ(answer.results.size(), 3u);
  EXPECT_EQ(answer.peak_bytes, 7u << 16);
  EXPECT_EQ(answer.results[0].outcome.status, Status::infeasible);
  EXPECT_NEAR(answer.results[1].outcome.overhead(), 4.0 / 8, 1e-9);
  EXPECT_EQ(answer.results[2].outcome.overhead(), 0);
  EXPECT_EQ(answer.smallest[0].budget_bytes, 5u << 16);
}

void expect_monotone(const Trace& trace, double step) {
  PlanQuestion question;
  for (double ratio = step; ratio <= 1.0001; ratio += step) question.ratios.push_back(ratio);
  question.policies = {"next-use"};
  question.smallest = false;
  const PlanAnswer answer = plan(trace, question);
  bool works = false;
  double least = 0;
  for (const PlanResult& each : answer.results) {
    if (works) {
      EXPECT_EQ(each.outcome.status, Status::ok) << each.ratio << ": a hole";
      EXPECT_LE(each.outcome.overhead(), least + 0.01) << each.ratio;
    } else if (each.outcome.status != Status::ok) {
      continue;
    }
    EXPECT_LE(each.outcome.peak_bytes, each.budget_bytes);
    EXPECT_GE(each.outcome.overhead(), each.lower_bound - 1e-9) << each.ratio;
    least = works ? std::min(least, each.outcome.overhead()) : each.outcome.overhead();
    works = true;
  }
  EXPECT_TRUE(works);
}

TEST(Plan, MoreMemoryNeverFailsAndNeverCostsMore) { expect_monotone(training(16, 1), 0.02); }

TEST(Plan, OnThePublishedLogsToo) {
  Trace trace;
  if (!find_log("resnet32", trace)) GTEST_SKIP() << "REGROW_TRACES is not set";
  expect_monotone(trace, 0.005);
}

// One step of a network whose layers share a weight; its loss is kept, and asked for or not, when the optimizer replaces the weight.
Trace step_that_keeps_its_loss(bool asks) {
  constexpr std::uint64_t bytes = 1 << 20;
  Trace trace;
  const TensorId weight = trace.put(bytes);
  std::vector<TensorId> act = {trace.put(bytes)};
  for (int i = 0; i < 16; ++i) act.push_back(run_one(trace, "layer", 1, 4e-3, {act.back(), weight}, bytes));
  const TensorId loss = run_one(trace, "loss", 2, 1e-4, {act.back()}, 64);
  TensorId grad = run_one(trace, "loss_gradient", 3, 1e-4, {act.back()}, bytes, {act.back()});
  for (std::size_t i = 16; i-- > 0;) grad = run_one(trace, "layer_gradient", 4, 4e-3, {grad, act[i], weight}, bytes, {grad, act[i]});
  if (asks) trace.want(loss);
  const TensorId inputs[] = {weight, grad};
  const TraceOutput output{.bytes = bytes, .reuse = 1};
  trace.apply({.name = "step", .key = 5, .seconds = 1e-4, .state = true, .inputs = inputs, .outputs = {&output, 1}, .deletes = inputs});
  return trace;
}

TEST(Plan, WhatIsKeptWhenItsRecipeIsCutCountsAsReadThen) {
  const auto overhead = [](const Trace& trace) {
    const PlanAnswer answer = plan(trace, {.budgets = {}, .ratios = {0.5}, .policies = {"next-use"}, .disk = {}, .tune = false});
    EXPECT_EQ(answer.results[0].outcome.status, Status::ok);
    return answer.results[0].outcome.overhead();
  };
  EXPECT_GT(overhead(step_that_keeps_its_loss(true)), 0);
  EXPECT_LE(overhead(step_that_keeps_its_loss(false)), overhead(step_that_keeps_its_loss(true)) + 0.01);
}

TEST(Plan, AfterOneStepTheNextIsForetoldAndCostsLessThanByStaleness) {
  const Trace trace = training(24, 6);
  const std::size_t peak = replay(trace, nullptr, 0).peak_bytes;
  const auto overhead = [&](std::string_view name) {
    const auto policy = make_policy(name);
    const Outcome outcome = replay(trace, policy.get(), peak * 35 / 100);
    EXPECT_EQ(outcome.status, Status::ok) << name;
    return outcome.overhead();
  };
  EXPECT_LT(overhead("next-use"), overhead("dtr-eq"));
  EXPECT_LT(overhead("next-use"), overhead("lru"));
}

TEST(Explain, SaysWhatStandsAndWhatRunsAgain) {
  const Trace trace = training(12, 1);
  const std::size_t peak = replay(trace, nullptr, 0).peak_bytes;
  const Explanation e = explain(trace, peak / 2);
  ASSERT_FALSE(e.standing.empty());
  EXPECT_EQ(e.peak.pinned_bytes, (12 / 4 + 1) * (std::size_t{1} << 20)) << "weights and input";
  ASSERT_FALSE(e.again.empty());
  std::uint64_t evictions = 0;
  for (const auto& each : e.again) evictions += each.evictions;
  EXPECT_GT(evictions, 0u);
}

}  // namespace
}  // namespace regrow::remat
