// SPDX-License-Identifier: Apache-2.0
// The rules of the published simulator: by hand on small programs, and against its own figures on the published logs.
#include <gtest/gtest.h>

#include "regrow/remat/dtr.h"
#include "regrow/remat/published_replay.h"
#include "tests/remat/published_logs.h"

namespace regrow::remat {
namespace {

// Constant 0 -> a -> b -> c, 10 bytes each, 1, 2, 4 ns; a is wanted at the end.
constexpr const char* chain = R"(K 0 10
P 0
C 1 1 0 1 1 10 -1 a
C 2 1 1 1 2 10 -1 b
C 4 1 2 1 3 10 -1 c
R 2
P 1
P 3
)";

TEST(PublishedRules, WithRoomForEverythingNothingRunsTwice) {
  DtrEqPolicy policy(true);
  const Outcome outcome = replay_published(parse_trace(chain, "chain"), policy, 0);
  EXPECT_EQ(outcome.status, Status::ok);
  EXPECT_NEAR(outcome.seconds, 7e-9, 1e-15);
  EXPECT_EQ(outcome.peak_bytes, 40u);
}

TEST(PublishedRules, WhatWasEvictedRunsAgainWhenItIsPinned) {
  DtrEqPolicy policy(true);
  const Outcome outcome = replay_published(parse_trace(chain, "chain"), policy, 30);
  EXPECT_EQ(outcome.status, Status::ok);
  EXPECT_NEAR(outcome.seconds, 8e-9, 1e-15) << "a goes to make room for c, and is made again";
  EXPECT_EQ(outcome.evictions, 1u);
  EXPECT_EQ(outcome.recomputed, 1u);
}

TEST(PublishedRules, PinnedBytesThatDoNotFitAreInfeasible) {
  DtrEqPolicy policy(true);
  EXPECT_EQ(replay_published(parse_trace(chain, "chain"), policy, 29).status, Status::infeasible);
}

TEST(PublishedRules, AViewRunsAgainWithItsStorage) {
  // b is a view of a, c reads b; a and b go to make room for d (20 bytes), and both run again for e.
  constexpr const char* text = R"(K 0 0
P 0
C 1 1 0 1 1 20 -1 a
C 2 1 1 1 2 0 0 b
C 4 1 0 1 4 20 -1 d
C 8 1 2 1 5 5 -1 e
)";
  DtrEqPolicy policy(true);
  const Outcome outcome = replay_published(parse_trace(text, "views"), policy, 25);
  EXPECT_EQ(outcome.status, Status::ok);
  EXPECT_NEAR(outcome.seconds, (1 + 2 + 4 + 8 + 1 + 2) * 1e-9, 1e-15);
  EXPECT_EQ(outcome.evictions, 2u) << "a with its view, then d";
}

struct Row {
  const char* name;
  std::size_t peak;
  double compute_ns;
  double at[5];  // 0.7, 0.5, 0.4, 0.3, 0.2 of the peak; 0: more than four times
};

class PublishedFigures : public ::testing::TestWithParam<Row> {};

// h_DTR^eq by the unmodified simulator of the paper's authors.
TEST_P(PublishedFigures, AreReached) {
  const Row& row = GetParam();
  Trace trace;
  if (!find_log(row.name, trace)) GTEST_SKIP() << "REGROW_TRACES is not set";
  DtrEqPolicy unlimited(true);
  const Outcome whole = replay_published(trace, unlimited, 0);
  EXPECT_EQ(whole.peak_bytes, row.peak);
  EXPECT_NEAR(whole.own_seconds * 1e9, row.compute_ns, 1);
  constexpr double ratios[] = {0.7, 0.5, 0.4, 0.3, 0.2};
  for (int i = 0; i < 5; ++i) {
    DtrEqPolicy policy(true);
    const Outcome outcome = replay_published(trace, policy, static_cast<std::size_t>(ratios[i] * static_cast<double>(row.peak)));
    if (row.at[i] == 0) {
      EXPECT_EQ(outcome.status, Status::thrash) << ratios[i];
      continue;
    }
    EXPECT_EQ(outcome.status, Status::ok) << ratios[i];
    EXPECT_NEAR(1 + outcome.overhead(), row.at[i], row.at[i] == 1.5447 ? 5e-4 : 5.1e-5) << ratios[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Logs, PublishedFigures,
                         ::testing::Values(Row{"resnet32", 10061179648, 291905487, {1.0463, 1.1068, 1.1404, 1.1786, 1.3322}},
                                           Row{"transformer", 9864405384, 276259118, {1.0314, 1.0584, 1.0914, 1.1238, 1.5447}},
                                           Row{"treelstm", 170173608, 120490892, {1.0334, 1.1268, 1.1904, 0, 0}},
                                           Row{"lstm", 5595127736, 769458833, {1.0314, 1.0710, 1.1590, 1.3651, 1.5502}}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace regrow::remat
