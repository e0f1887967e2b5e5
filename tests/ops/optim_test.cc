// SPDX-License-Identifier: Apache-2.0
// Optimizer steps: NumPy's values by the formulas of the papers, layouts, narrow types, in place.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/ops/values.h"

namespace regrow {
namespace {

using testing::as_dtype;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::laid_out;
using testing::random_value;
using testing::run;
using testing::Value;
using testing::value;

const Value param = value<double>({1, -2, 3}, {3}), grad = value<double>({.5, -.25, 1}, {3}),
            buffer = value<double>({.1, .2, -.3}, {3});

void expect_near(const Value& got, const std::vector<double>& expected, double tolerance = 1e-15) {
  const std::vector<double> values = got.to_doubles();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << i;
}

TEST(SgdStep, AgreesWithNumpy) {
  expect_near(run(op("sgd_step", {{"learning_rate", .1}, {"weight_decay", .01}}), {param, grad})[0], {.949, -1.973, 2.897});
  const std::initializer_list<AttrArg> damped = {
      {"learning_rate", .1}, {"momentum", .9}, {"dampening", .5}, {"weight_decay", .01}};
  const std::vector<Value> plain = run(op("sgd_momentum_step", damped), {param, grad, buffer});
  expect_near(plain[0], {.9655, -2.0045, 2.9755});
  expect_near(plain[1], {.345, .045, .245});
  const std::vector<Value> nesterov =
      run(op("sgd_momentum_step", {{"learning_rate", .1}, {"dampening", .5}, {"weight_decay", .01}, {"nesterov", true}}),
          {param, grad, buffer});
  expect_near(nesterov[0], {.91795, -1.97705, 2.87495});
  expect_near(nesterov[1], {.345, .045, .245});
}

TEST(SgdStep, WithoutMomentumBothRecordsAgree) {
  const Value p = random_value(DType::f32, {5000}, 1), g = random_value(DType::f32, {5000}, 2),
              zero = value(std::vector<float>(5000), {5000});
  EXPECT_EQ(run(op("sgd_momentum_step", {{"learning_rate", .1}, {"momentum", 0}}), {p, g, zero})[0].to_bytes(),
            run(op("sgd_step", {{"learning_rate", .1}}), {p, g})[0].to_bytes());
}

TEST(AdamStep, AgreesWithNumpyOverTwoSteps) {
  const Value zero = value<double>({0, 0, 0}, {3});
  const Op adam = op("adam_step", {{"learning_rate", .01}});
  const std::vector<Value> first =
      run(adam, {param, value<double>({.5, -.25, 0}, {3}), zero, zero, value<std::int64_t>({0}, {})});
  expect_near(first[0], {0.9900000002, -1.9900000004, 3});
  expect_near(first[1], {.05, -.025, 0});
  expect_near(first[2], {2.5e-4, 6.25e-5, 0});
  EXPECT_THAT(first[3].to_vector<std::int64_t>(), ElementsAre(1));
  const std::vector<Value> second = run(adam, {first[0], value<double>({.1, .3, -4}, {3}), first[1], first[2], first[3]});
  expect_near(second[0], {0.9819695906384652, -1.9914294476547747, 3.007441368209367});
  expect_near(second[1], {.055, .0075, -.4});
  expect_near(second[2], {0.00025975, 0.0001524375, 0.016});
  EXPECT_THAT(second[3].to_vector<std::int64_t>(), ElementsAre(2));
}

TEST(AdamStep, DecaysWeightsThroughTheGradientOrBesideIt) {
  const Value zero = value<double>({0, 0, 0}, {3}), g = value<double>({.5, -.25, 0}, {3}), none = value<std::int64_t>({0}, {});
  const std::vector<Value> l2 =
      run(op("adam_step", {{"learning_rate", .01}, {"weight_decay", .1}}), {param, g, zero, zero, none});
  expect_near(l2[0], {0.9900000001666667, -1.9900000002222222, 2.990000000333333});
  expect_near(l2[1], {.06, -.045, .03});
  const std::vector<Value> decoupled =
      run(op("adam_step", {{"learning_rate", .01}, {"weight_decay", .1}, {"decoupled", true}}), {param, g, zero, zero, none});
  expect_near(decoupled[0], {0.9890000002, -1.9880000004, 2.997});
  expect_near(decoupled[1], {.05, -.025, 0});
}

// Optax issues 1754, 1784; PyTorch issue 147437: epsilon must not vanish in f16.
TEST(AdamStep, ZeroGradientsChangeNothingInHalfPrecision) {
  for (DType dtype : {DType::f16, DType::bf16}) {
    std::vector<Value> state = {random_value(dtype, {100}, 1), as_dtype(value(std::vector<double>(100), {100}), dtype)};
    const Value zero = state[1];
    const std::vector<std::byte> before = state[0].to_bytes();
    state = {state[0], zero, zero, value<std::int64_t>({0}, {})};
    for (int i = 0; i < 3; ++i) state = run(op("adam_step"), {state[0], zero, state[1], state[2], state[3]});
    EXPECT_EQ(state[0].to_bytes(), before);
    EXPECT_THAT(state[1].to_doubles(), Each(0));
  }
}

// torchao pull request 4915: the counter goes on beyond what bf16 can count.
TEST(AdamStep, CountsAThousandStepsWithNarrowParameters) {
  const Value g = as_dtype(value<double>({.01}, {1}), DType::f32);
  std::vector<Value> narrow = {as_dtype(value<double>({1}, {1}), DType::bf16), value<float>({0}, {1}), value<float>({0}, {1}),
                               value<std::int64_t>({0}, {})};
  std::vector<Value> wide = narrow;
  wide[0] = value<float>({1}, {1});
  const Op adam = op("adam_step", {{"learning_rate", 1e-2}});
  for (int i = 0; i < 1000; ++i) {
    narrow = run(adam, {narrow[0], as_dtype(g, DType::bf16), narrow[1], narrow[2], narrow[3]});
    wide = run(adam, {wide[0], g, wide[1], wide[2], wide[3]});
  }
  EXPECT_THAT(narrow[3].to_vector<std::int64_t>(), ElementsAre(1000));
  EXPECT_NEAR(wide[0].to_doubles()[0], 1 - 1000 * 1e-2, 1e-2) << "a constant gradient moves by the learning rate a step";
  EXPECT_NEAR(narrow[1].to_doubles()[0], wide[1].to_doubles()[0], 1e-4) << "means do not freeze";
}

TEST(OptimizerSteps, ReadGradientsOfAnyLayout) {
  const Value p = random_value(DType::f32, {30, 40}, 1), g = random_value(DType::f32, {30, 40}, 2),
              m = random_value(DType::f32, {30, 40}, 3);
  const Value v = random_value(DType::f32, {30, 40}, 4, 0, 1), step = value<std::int64_t>({5}, {});
  for (const Strides& strides : {Strides{1, 30}, Strides{-40, 1}, Strides{160, 2}, Strides{40, -1}}) {
    EXPECT_EQ(run(op("sgd_step", {{"learning_rate", .1}}), {p, laid_out(g, strides)})[0].to_bytes(),
              run(op("sgd_step", {{"learning_rate", .1}}), {p, g})[0].to_bytes());
    const std::vector<Value> dense = run(op("adam_step"), {p, g, m, v, step}),
                             other = run(op("adam_step"),
                                         {laid_out(p, strides), laid_out(g, strides), m, laid_out(v, strides), step});
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(other[i].to_bytes(), dense[i].to_bytes());
      EXPECT_TRUE(other[i].desc.contiguous());
    }
  }
}

TEST(OptimizerSteps, WriteInPlace) {
  const Value p = random_value(DType::f32, {3000}, 1), g = random_value(DType::f32, {3000}, 2),
              b = random_value(DType::f32, {3000}, 3);
  const Op step = op("sgd_momentum_step", {{"learning_rate", .1}, {"weight_decay", .1}});
  EXPECT_EQ(step.record().reuse[0], 0b001u);
  EXPECT_EQ(step.record().reuse[1], 0b100u);
  EXPECT_TRUE(step.record().state);
  const std::vector<Value> apart = run(step, {p, g, b});
  const View in[] = {p.view(), g.view(), b.view()}, out[] = {p.view(), b.view()};
  compute(step, in, out, {}, {});
  EXPECT_EQ(p.to_bytes(), apart[0].to_bytes());
  EXPECT_EQ(b.to_bytes(), apart[1].to_bytes());
}

TEST(OptimizerSteps, SayWhatDoesNotFit) {
  EXPECT_THAT(error_of([] {
                run(op("sgd_step", {{"learning_rate", .1}}), {param, value<double>({1}, {1})});
              }),
              HasSubstr("sgd_step: the parameter has the shape (3,), what belongs to it (1,)"));
  EXPECT_THAT(error_of([] { run(op("sgd_step"), {param, grad}); }), HasSubstr("attribute 'learning_rate' is required"));
  EXPECT_THAT(error_of([] {
                run(op("adam_step", {{"beta1", 1}}), {param, grad, buffer, buffer, value<std::int64_t>({0}, {})});
              }),
              HasSubstr("beta1 must lie in [0, 1), not 1"));
  EXPECT_THAT(error_of([] {
                run(op("adam_step"), {param, grad, buffer, buffer, value<float>({0}, {})});
              }),
              HasSubstr("step is an i64, not f32"));
}

}  // namespace
}  // namespace regrow
