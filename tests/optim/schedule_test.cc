// SPDX-License-Identifier: Apache-2.0
// Schedules against the learning rates that PyTorch 1.13's of the same names give, at learning rate 1.
#include "regrow/optim/schedule.h"

#include <gtest/gtest.h>

#include <vector>

#include "regrow/base/error.h"

namespace regrow::optim {
namespace {

void expect_factors(const Schedule& schedule, const std::vector<double>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(schedule(static_cast<std::int64_t>(i)), expected[i], 1e-15) << "step " << i;
}

TEST(Schedule, CosineIsHalfACosineDownToItsFloor) {
  expect_factors(cosine(10, 0.1),
                 {1.0, 0.9779754323328191, 0.9140576474687263, 0.8145033635316129, 0.6890576474687263, 0.55, 0.41094235253127376,
                  0.2854966364683872, 0.18594235253127372, 0.12202456766718092, 0.1, 0.1, 0.1});
}

TEST(Schedule, StepsMultiply) {
  expect_factors(step_decay(3, 0.5), {1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25});
  expect_factors(milestones({2, 5}), {1, 1, 0.1, 0.1, 0.1, 0.01, 0.01});
}

TEST(Schedule, LinearGoesStraightAndStays) {
  expect_factors(linear(4, 0.25, 1), {0.25, 0.4375, 0.625, 0.8125, 1, 1});
  expect_factors(linear(4), {1, 0.75, 0.5, 0.25, 0, 0});
}

TEST(Schedule, WarmUpLosesNoStepAndHandsOver) {
  expect_factors(warm_up(3, linear(2)), {0.25, 0.5, 0.75, 1, 0.5, 0});
  expect_factors(warm_up(0), {1, 1});
}

TEST(Schedule, OneCycleIsPyTorchs) {
  expect_factors(one_cycle(10), {0.04, 0.52, 1, 0.9504846320134737, 0.8117456539497631, 0.6112620219362893, 0.38874197806371075,
                                 0.18825834605023697, 0.049519367986526286, 4e-06, 4e-06});
}

TEST(Schedule, RefusesWhatTakesNoStep) {
  EXPECT_THROW(cosine(0), Error);
  EXPECT_THROW(linear(-1), Error);
  EXPECT_THROW(warm_up(-1), Error);
  EXPECT_THROW(step_decay(0), Error);
  EXPECT_THROW(milestones({3, 2}), Error);
  EXPECT_THROW(one_cycle(10, {.rise = 1}), Error);
}

}  // namespace
}  // namespace regrow::optim
