// SPDX-License-Identifier: Apache-2.0
// Gradients of tensors as users write them: assignment, views, losses, singular points. Expected values by hand or from NumPy.
#include "regrow/frontend/grad.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "regrow/frontend/create.h"
#include "regrow/frontend/derived.h"
#include "regrow/ops.h"

namespace regrow {
namespace {

using testing::DoubleEq;
using testing::Each;
using testing::ElementsAre;

constexpr double infinity = std::numeric_limits<double>::infinity();
std::vector<double> numbers(const Tensor& x) { return x.to_vector<double>(); }
Tensor leaf(std::initializer_list<Literal> values) { return tensor(values, {.dtype = DType::f64}).requires_grad(); }

// B093, B094, B096, B097: elsewhere errors about in-place changes; here what was saved is a value.
TEST(ValuesAndGradients, AssignmentDoesNotChangeWhatWasSaved) {
  const Tensor x = leaf({1, 2, 3});
  Tensor y = x * 1;
  const Tensor z = sum(y * y);
  y[0] = 100;
  z.backward();
  EXPECT_THAT(numbers(x.grad()), ElementsAre(2, 4, 6));
}

TEST(ValuesAndGradients, DisjointPartsOfOneTensor) {
  const Tensor x = leaf({0, 0.5});
  Tensor a = x * 1;
  a[0] = sin(a[1]);
  sum(a).backward();
  EXPECT_THAT(numbers(x.grad()), ElementsAre(0, 1 + std::cos(0.5)));
}

TEST(ValuesAndGradients, AssignedPartsGetTheGradientOfTheirPlace) {
  const Tensor x = leaf({1, 2, 3}), v = leaf({10});
  Tensor y = x * 2;
  y[slice(1, none)] = v;
  sum(y * tensor({1.0, 2.0, 3.0})).backward();
  EXPECT_THAT(numbers(x.grad()), ElementsAre(2, 0, 0));
  EXPECT_THAT(numbers(v.grad()), ElementsAre(5));
}

// B100: asking for the gradient of a value that is then rebound works in every iteration.
TEST(ValuesAndGradients, RebindingInALoop) {
  Tensor n = leaf({1, 2});
  for (int i = 0; i < 3; ++i) {
    const Tensor shifted = n * 2;
    const std::vector<double> found = numbers(grad(sum(shifted * shifted), {shifted}).at(0));
    EXPECT_NEAR(found[0], 4 + 0.4 * i, 1e-12);
    EXPECT_NEAR(found[1], 8 + 0.4 * i, 1e-12);
    n = (n + 0.1).detach().requires_grad();
  }
}

TEST(ValuesAndGradients, LeavesThatAreReboundAreLeavesNoMore) {
  Tensor t = leaf({1});
  const Tensor copy = t;
  t += 1;
  EXPECT_FALSE(t.is_leaf());
  EXPECT_TRUE(t.needs_grad());
  EXPECT_TRUE(copy.is_leaf());
  sum(t * 3).backward();
  EXPECT_THAT(numbers(copy.grad()), ElementsAre(3));
}

// B085
TEST(Gradients, OfRepeatedIndicesAddUp) {
  const Tensor x = leaf({0.1});
  take(x, tensor({0, 0})).backward({.grad = tensor({0.2, 0.3})});
  EXPECT_THAT(numbers(x.grad()), ElementsAre(0.5));
}

// B090
TEST(Gradients, OfBroadcastOperandsHaveTheirShape) {
  const std::pair<Shape, Shape> cases[] = {{{1}, {5, 4}}, {{4, 1}, {1, 4}}, {{3, 1}, {2, 3, 4}}, {{}, {2, 3}}};
  for (const auto& [first, second] : cases) {
    const Tensor a = full(first, 2.0).requires_grad(), b = full(second, 3.0).requires_grad();
    const Tensor product = a * b;
    sum(product).backward();
    ASSERT_EQ(a.grad().shape(), first);
    ASSERT_EQ(b.grad().shape(), second);
    EXPECT_THAT(numbers(a.grad()), Each(3.0 * static_cast<double>(product.size() / a.size())));
    EXPECT_THAT(numbers(b.grad()), Each(2.0 * static_cast<double>(product.size() / b.size())));
  }
}

// B091
TEST(Gradients, ThroughABroadcastToTheSameShape) {
  const Tensor x = leaf({{1, 2}, {3, 4}});
  EXPECT_THAT(numbers(sum(x, {.axis = Axes::none()})), ElementsAre(1, 2, 3, 4));
  sum(broadcast_to(x, {2, 2}) * x).backward();
  EXPECT_THAT(numbers(x.grad()), ElementsAre(2, 4, 6, 8));
}

// B092
TEST(Gradients, ThroughAReductionOfTheOnlyAxis) {
  const Tensor x = full({5}, 1.0).requires_grad();
  square(mean(x, {.axis = 0})).backward();
  EXPECT_THAT(numbers(x.grad()), Each(2.0 / 5.0));
}

// B089
TEST(Gradients, ThroughAMatmulOverNothing) {
  const Tensor a = zeros({3, 4}, {.dtype = DType::f64}).requires_grad(), b = zeros({4, 0}, {.dtype = DType::f64}).requires_grad();
  sum(square(matmul(a, b) + 1)).backward();
  EXPECT_EQ(a.grad().shape(), (Shape{3, 4}));
  EXPECT_THAT(numbers(a.grad()), Each(0));
  EXPECT_EQ(b.grad().shape(), (Shape{4, 0}));
  const Tensor c = zeros({3, 0}, {.dtype = DType::f64}).requires_grad(), d = zeros({0, 4}, {.dtype = DType::f64}).requires_grad();
  mean(square(matmul(c, d) + 1)).backward();
  EXPECT_EQ(c.grad().shape(), (Shape{3, 0}));
  EXPECT_THROW(matmul(c, zeros({1, 4}, {.dtype = DType::f64})), Error);
}

// B101
TEST(Gradients, OfANormAtTheZeroVector) {
  const Tensor x = leaf({0, 0, 0});
  norm(x).backward();
  EXPECT_THAT(numbers(x.grad()), ElementsAre(0, 0, 0));
  const Tensor z = leaf({3, 4});
  norm(z).backward();
  EXPECT_THAT(numbers(z.grad()), ElementsAre(DoubleEq(0.6), DoubleEq(0.8)));
}

// B102
TEST(Gradients, StopAtABranchThatIsDiscarded) {
  const Tensor y = leaf({0, 0});
  maximum(sqrt(sum(square(y))), 1e-10).backward();
  EXPECT_THAT(numbers(y.grad()), ElementsAre(0, 0));
}

// B103
TEST(Gradients, OfLogSumExpOfMinusInfinity) {
  const Tensor x = leaf({-infinity, -infinity});
  const Tensor y = log_sum_exp(x);
  EXPECT_EQ(y.item<double>(), -infinity);
  y.backward();
  EXPECT_THAT(numbers(x.grad()), ElementsAre(0, 0));
}

TEST(Gradients, OfLogSumExpAreSoftmax) {
  const Tensor x = leaf({{1000, 1000}, {0, -infinity}});
  const Tensor y = log_sum_exp(x, {.axis = 1});
  EXPECT_NEAR(y[0].item<double>(), 1000 + std::log(2.0), 1e-12);
  sum(y).backward();
  EXPECT_THAT(numbers(x.grad()), ElementsAre(0.5, 0.5, 1, 0));
}

TEST(Gradients, ThroughDataDependentShapes) {
  const Tensor x = leaf({1, -2, 3});
  const Tensor chosen = masked_select(x, x > 0);
  sum(chosen * chosen).backward();
  EXPECT_THAT(numbers(x.grad()), ElementsAre(2, 0, 6));
}

TEST(Gradients, OfDropoutUseTheMaskOfTheForwardPass) {
  const Tensor x = full({1000}, 1.0).requires_grad();
  const Tensor y = dropout(x, {.p = 0.5});
  normal({8});  // another random operation in between
  sum(y).backward();
  EXPECT_EQ(numbers(x.grad()), numbers(y.detach()));
}

TEST(Gradients, OfSecondOrderThroughAMixedExpression) {
  const Tensor x = leaf({0.5}), y = leaf({2});
  const Tensor f = sum(exp(x * y) * y);
  const Tensor fx = grad(f, {x}, {.create_graph = true}).at(0);  // y^2 e^(xy)
  const std::vector<Tensor> second = grad(sum(fx), {x, y});
  EXPECT_NEAR(second[0].item<double>(), 8 * std::exp(1.0), 1e-12);                  // y^3 e^(xy)
  EXPECT_NEAR(second[1].item<double>(), (2 * 2 + 4 * 0.5) * std::exp(1.0), 1e-12);  // (2y + x y^2) e^(xy)
}

TEST(Gradients, NeedFloatingPoint) { EXPECT_THROW(tensor({1, 2}).requires_grad(), Error); }

}  // namespace
}  // namespace regrow
