// SPDX-License-Identifier: Apache-2.0
// Optimizers step by step against the formulas of their papers, computed in double precision here.
#include "regrow/optim/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "regrow/frontend/create.h"
#include "regrow/frontend/derived.h"
#include "regrow/frontend/grad.h"
#include "regrow/optim/optim.h"

namespace regrow::optim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Numbers = std::vector<double>;

Parameter parameter_of(Numbers values) { return Parameter(tensor(values)); }

// One step on the loss sum(w^2) / 2, whose gradient is w.
void step_on_square(Optimizer& optimizer, const Parameter& w) {
  optimizer.zero_grad();
  (sum(square(w.value())) * 0.5).backward();
  optimizer.step();
}

TEST(SGD, GoesDownTheGradient) {
  const Parameter w = parameter_of({1, -2});
  SGD sgd({w}, {.learning_rate = 0.5, .weight_decay = 0.1});
  step_on_square(sgd, w);  // w - 0.5 (w + 0.1 w)
  EXPECT_NEAR(w.value()[0].item<double>(), 0.45, 1e-15);
  EXPECT_NEAR(w.value()[1].item<double>(), -0.9, 1e-15);
}

TEST(SGD, MomentumIsPyTorchs) {
  for (const bool nesterov : {false, true}) {
    const Parameter w = parameter_of({1});
    SGD sgd({w}, {.learning_rate = 0.1, .momentum = 0.9, .nesterov = nesterov});
    double value = 1, buffer = 0;
    for (int i = 0; i < 5; ++i) {
      step_on_square(sgd, w);
      buffer = 0.9 * buffer + value;
      value -= 0.1 * (nesterov ? value + 0.9 * buffer : buffer);
      EXPECT_NEAR(w.value().item<double>(), value, 1e-14);
    }
  }
}

TEST(Adam, FollowsThePaper) {
  const Parameter w = parameter_of({1, -3});
  Adam adam({w}, {.learning_rate = 0.1});
  Numbers value = {1, -3}, mean = {0, 0}, square = {0, 0};
  for (int t = 1; t <= 5; ++t) {
    step_on_square(adam, w);
    for (std::size_t i = 0; i < 2; ++i) {
      const double g = value[i];
      mean[i] = 0.9 * mean[i] + 0.1 * g;
      square[i] = 0.999 * square[i] + 0.001 * g * g;
      value[i] -= 0.1 * (mean[i] / (1 - std::pow(0.9, t))) / (std::sqrt(square[i] / (1 - std::pow(0.999, t))) + 1e-8);
    }
    const Numbers found = w.value().to_vector<double>();
    for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(found[i], value[i], 1e-12);
  }
}

TEST(Optimizer, LearningRateCanChange) {
  const Parameter w = parameter_of({1});
  SGD sgd({w}, {.learning_rate = 0.1});
  sgd.set_learning_rate(0.25);
  step_on_square(sgd, w);
  EXPECT_EQ(w.value().item<double>(), 0.75);
  EXPECT_EQ(sgd.learning_rate(), 0.25);
}

TEST(Optimizer, LeavesParametersWithoutGradientAlone) {
  const Parameter used = parameter_of({1}), unused = parameter_of({1});
  Adam adam({used, unused}, {.learning_rate = 0.1});
  step_on_square(adam, used);
  EXPECT_EQ(unused.value().item<double>(), 1);
  EXPECT_LT(used.value().item<double>(), 1);
}

TEST(Optimizer, OldValuesStay) {
  const Parameter w = parameter_of({1});
  SGD sgd({w}, {.learning_rate = 0.5});
  const Tensor old = w.value();
  step_on_square(sgd, w);
  EXPECT_EQ(old.item<double>(), 1);
  EXPECT_FALSE(w.value().grad().item<double>() == 0);  // the cell is the same
}

TEST(Optimizer, StateGoesOnElsewhereWithTheSameBits) {
  const Parameter w = parameter_of({1, 2, 3}), twin = parameter_of({1, 2, 3});
  Adam adam({w}), twin_adam({twin});
  for (int i = 0; i < 3; ++i) step_on_square(adam, w);
  twin.set_value(w.value());
  twin_adam.set_state(adam.state());
  for (int i = 0; i < 3; ++i) step_on_square(adam, w), step_on_square(twin_adam, twin);
  EXPECT_EQ(twin.value().to_vector<double>(), w.value().to_vector<double>());
  EXPECT_EQ(adam.state().at(0).first, "0.mean");
}

TEST(Optimizer, RefusesStateThatIsNotItsOwn) {
  Adam adam({parameter_of({1, 2})}), other({parameter_of({1, 2, 3})});
  EXPECT_THROW(adam.set_state(other.state()), Error);
  EXPECT_THROW(adam.set_state({}), Error);
}

TEST(Optimizer, RefusesAParameterTwice) {
  const Parameter w = parameter_of({1});
  EXPECT_THROW(SGD({w, w}), Error);
  EXPECT_THROW(SGD({w}, {.nesterov = true}), Error);
}

}  // namespace
}  // namespace regrow::optim
