// SPDX-License-Identifier: Apache-2.0
// Optimizers step by step against the formulas of their papers, computed in double precision here.
#include "regrow/optim/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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

// NumPy: w -= 0.1 0.05 w; then Adam's step with beta2 = 0.99, epsilon = 1e-6.
TEST(AdamW, DecaysWeightsBesideTheGradient) {
  const Parameter w = parameter_of({1, -3});
  AdamW adam({w}, {.learning_rate = 0.1, .beta2 = 0.99, .epsilon = 1e-6, .weight_decay = 0.05});
  const double expected[5][2] = {{0.8950000999998999, -2.885000033333322},
                                 {0.7909418919034787, -2.770687177936382},
                                 {0.6881767437914095, -2.6571383073321027},
                                 {0.5871258581411561, -2.544434111539685},
                                 {0.4882903542521666, -2.432659073626392}};
  for (const auto& values : expected) {
    step_on_square(adam, w);
    for (int i = 0; i < 2; ++i) EXPECT_NEAR(w.value()[i].item<double>(), values[i], 1e-14);
  }
}

TEST(Groups, HaveOptionsOfTheirOwn) {
  const Parameter decayed = parameter_of({1}), other = parameter_of({1});
  AdamW both({decayed}, {.learning_rate = 0.1, .weight_decay = 0.5});
  both.add_group({other}, {.learning_rate = 0.01, .weight_decay = 0});
  const Parameter one = parameter_of({1}), two = parameter_of({1});
  AdamW first({one}, {.learning_rate = 0.1, .weight_decay = 0.5}), second({two}, {.learning_rate = 0.01, .weight_decay = 0});
  for (int i = 0; i < 3; ++i) {
    both.zero_grad();
    (sum(square(decayed.value())) * 0.5 + sum(square(other.value())) * 0.5).backward();
    both.step();
    step_on_square(first, one), step_on_square(second, two);
  }
  EXPECT_EQ(decayed.value().item<double>(), one.value().item<double>());
  EXPECT_EQ(other.value().item<double>(), two.value().item<double>());
  EXPECT_EQ(both.groups(), 2u);
  EXPECT_TRUE(both.parameters().at(1) == other);
  EXPECT_THROW(both.add_group({one, decayed}, {}), Error);
  EXPECT_EQ(both.parameters().size(), 2u);
}

TEST(Groups, MayDifferInTheirState) {
  const Parameter plain = parameter_of({1}), fast = parameter_of({1});
  SGD sgd({plain}, {.learning_rate = 0.5});
  sgd.add_group({fast}, {.learning_rate = 0.5, .momentum = 0.5});
  std::vector<std::string> names;
  for (const auto& [name, value] : sgd.state()) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("1.buffer", "group.0.learning_rate", "group.1.learning_rate"));
  for (int i = 0; i < 2; ++i) {
    sgd.zero_grad();
    (plain.value() + fast.value()).backward();
    sgd.step();
  }
  EXPECT_EQ(plain.value().item<double>(), 0);     // 1 - 0.5 - 0.5
  EXPECT_EQ(fast.value().item<double>(), -0.25);  // 1 - 0.5 - 0.5 1.5
}

TEST(Groups, AreScaledFromTheirOwnLearningRates) {
  SGD sgd({parameter_of({1})}, {.learning_rate = 0.5});
  sgd.add_group({parameter_of({1})}, {.learning_rate = 0.25});
  sgd.scale_learning_rate(0.5);
  sgd.scale_learning_rate(0.1);  // of the first ones, not of the last
  EXPECT_EQ(sgd.learning_rate(0), 0.05);
  EXPECT_EQ(sgd.learning_rate(1), 0.025);
  sgd.set_learning_rate(0.3, 1);
  EXPECT_EQ(sgd.learning_rate(0), 0.05);
  EXPECT_EQ(sgd.learning_rate(1), 0.3);
}

// B172: a zero gradient changes nothing in f16, where epsilon alone would vanish.
TEST(NarrowParameters, StayWhereTheGradientIsZero) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const Parameter w(tensor({0.5f, -2.f}).astype(dtype)), v(tensor({0.5f, -2.f}).astype(dtype));
    Adam adam({w});
    SGD sgd({v}, {.momentum = 0.9});
    for (int i = 0; i < 3; ++i) {
      w.set_grad(zeros_like(w.value())), v.set_grad(zeros_like(v.value()));
      adam.step(), sgd.step();
    }
    EXPECT_THAT(w.value().astype(DType::f32).to_vector<float>(), ElementsAre(0.5f, -2.f));
    EXPECT_THAT(v.value().astype(DType::f32).to_vector<float>(), ElementsAre(0.5f, -2.f));
  }
}

// B173: the counter of steps goes beyond the 256 that bf16 can count to.
TEST(NarrowParameters, CountTheirStepsInIntegers) {
  const Parameter w(tensor({1.f}).astype(DType::bf16));
  Adam adam({w}, {.learning_rate = 1e-3});
  for (int i = 0; i < 300; ++i) {
    w.set_grad(tensor({0.01f}).astype(DType::bf16));
    adam.step();
  }
  const auto state = adam.state();
  EXPECT_EQ(state.at(2).first, "0.step");
  EXPECT_EQ(state.at(2).second.item<std::int64_t>(), 300);
  EXPECT_EQ(state.at(0).second.dtype(), DType::f32);
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
  adam.set_learning_rate(0.02);  // it belongs to the state
  twin.set_value(w.value());
  auto state = adam.state();
  std::reverse(state.begin(), state.end());
  twin_adam.set_state(state);
  for (int i = 0; i < 3; ++i) step_on_square(adam, w), step_on_square(twin_adam, twin);
  EXPECT_EQ(twin.value().to_vector<double>(), w.value().to_vector<double>());
  EXPECT_EQ(adam.state().at(0).first, "0.mean");
}

TEST(Optimizer, RefusesStateThatIsNotItsOwn) {
  Adam adam({parameter_of({1, 2})}), other({parameter_of({1, 2, 3})});
  EXPECT_THROW(adam.set_state(other.state()), Error);
  EXPECT_THROW(adam.set_state({}), Error);
  SGD sgd({parameter_of({1})}, {.learning_rate = 0.5});
  EXPECT_THROW(sgd.set_state({{"group.0.learning_rate", tensor(0.1f)}}), Error);
  EXPECT_EQ(sgd.learning_rate(), 0.5);
}

TEST(Optimizer, RefusesAParameterTwice) {
  const Parameter w = parameter_of({1});
  EXPECT_THROW(SGD({w, w}), Error);
  EXPECT_THROW(SGD({w}, {.nesterov = true}), Error);
}

}  // namespace
}  // namespace regrow::optim
