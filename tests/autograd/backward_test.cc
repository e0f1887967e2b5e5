// SPDX-License-Identifier: Apache-2.0
// Structure of the pass: sharing, accumulation, release, restriction. Expected values by hand.
#include "regrow/autograd/backward.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/autograd/expression.h"

namespace regrow::autograd {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Numbers = std::vector<double>;

TEST(Backward, FollowsEveryPathToALeaf) {
  const Value x = leaf<double>({1, 2, 3}, {3});
  run_backward(total(x * x * x));
  EXPECT_THAT(grad_of(x), ElementsAre(3, 12, 27));
}

TEST(Backward, AddsToTheGradientThatIsThere) {
  const Value x = leaf<double>({1, 2}, {2});
  run_backward(total(x * x));
  run_backward(total(x));
  EXPECT_THAT(grad_of(x), ElementsAre(3, 5));
}

TEST(Backward, CopiesOfALeafShareItsGradient) {
  const Value x = leaf<double>({4}, {1});
  const Value copy = x;
  run_backward(total(copy * 3));
  EXPECT_THAT(grad_of(x), ElementsAre(3));
}

TEST(Backward, DetachingCutsTheGraph) {
  const Value x = leaf<double>({2}, {1});
  const Value y = (x * x).detached();
  EXPECT_FALSE(y.needs_grad());
  run_backward(total(x * y));
  EXPECT_THAT(grad_of(x), ElementsAre(4));
}

TEST(Backward, RecordsNothingUnderNoGrad) {
  const Value x = leaf<double>({2}, {1});
  {
    NoGrad guard;
    EXPECT_FALSE((x * x).needs_grad());
    {
      GradMode again(true);
      EXPECT_TRUE((x * x).needs_grad());
    }
    EXPECT_FALSE((x * x).needs_grad());
  }
  EXPECT_TRUE((x * x).needs_grad());
}

TEST(Backward, ComparisonsAndIntegersCarryNoGradient) {
  const Value x = leaf<double>({2, -1}, {2});
  EXPECT_FALSE(call("greater", {x, constant<double>({0}, {})}).needs_grad());
  EXPECT_FALSE(call("cast", {x}, {{"dtype", DType::i32}}).needs_grad());
}

TEST(Backward, GradientHasTheTypeOfItsInput) {
  const Value x = make_leaf(constant<float>({1, 2}, {2}), here);
  const Value y = constant<double>({3, 4}, {2});
  run_backward(total(x * y));
  const HostArray gradient = default_channel().get_value(gradient_of(x, here).handle());
  EXPECT_EQ(gradient.dtype(), DType::f32);
  EXPECT_THAT(gradient.to_vector<float>(), ElementsAre(3, 4));
}

TEST(Backward, SeveralOutputsAddUp) {
  const Value x = leaf<double>({1, 2}, {2});
  const std::vector<Value> outputs = {total(x), x * x};
  const std::vector<Value> seeds = {Value(), constant<double>({10, 100}, {2})};
  backward(outputs, seeds, {}, here);
  EXPECT_THAT(grad_of(x), ElementsAre(1 + 20, 1 + 400));
}

TEST(Backward, NeedsAGradientForAnOutputOfManyElements) {
  const Value x = leaf<double>({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_THAT(message_of([&] { run_backward(x * x); }), HasSubstr("(2, 3)"));
}

TEST(Backward, RefusesAGradientOfAnotherShape) {
  const Value x = leaf<double>({1, 2}, {2});
  const Value y = x * x, seed = constant<double>({1, 1, 1}, {3});
  EXPECT_THAT(message_of([&] { backward({&y, 1}, {&seed, 1}, {}, here); }), HasSubstr("f64(3,)"));
}

TEST(Backward, RefusesAnOutputThatNeedsNone) {
  EXPECT_THAT(message_of([] { run_backward(constant<double>({1}, {})); }), HasSubstr("does not depend"));
}

// B098: a user's error, telling what to do, whatever the operator.
TEST(Backward, SecondPassOverAReleasedGraphSaysToRetainIt) {
  const Value x = leaf<double>({1, 2, 3}, {3});
  const Value loss = total(call("slice", {x * x}, {{"start", Dims{0}}, {"stop", Dims{2}}, {"step", Dims{1}}}));
  run_backward(loss);
  EXPECT_THAT(message_of([&] { run_backward(loss); }), HasSubstr("retain_graph"));
  EXPECT_THAT(message_of([&] { grad(loss, x); }), HasSubstr("retain_graph"));
  EXPECT_THAT(grad_of(x), ElementsAre(2, 4, 0));  // the failed pass left no trace
}

TEST(Backward, RetainedGraphRunsAgain) {
  const Value x = leaf<double>({1, 2}, {2});
  const Value loss = total(x * x);
  run_backward(loss, {.retain_graph = true});
  run_backward(loss);
  EXPECT_THAT(grad_of(x), ElementsAre(4, 8));
}

// B099: asking for one input leaves the branches of others alone.
TEST(Gradients, OfASubsetReleaseOnlyWhatRan) {
  const Value x = leaf<double>({2}, {1}), w = leaf<double>({3}, {1});
  const Value branch = w * w;
  const Value loss = total(x * x + branch);
  EXPECT_THAT(numbers(grad(loss, x, {.retain_graph = true})), ElementsAre(4));
  EXPECT_THAT(numbers(grad(loss, w)), ElementsAre(6));
  EXPECT_THAT(message_of([&] { grad(loss, w); }), HasSubstr("retain_graph"));
  EXPECT_THAT(numbers(grad(total(x * x), x)), ElementsAre(4));
}

TEST(Gradients, TouchNoGradientCell) {
  const Value x = leaf<double>({2}, {1});
  grad(total(x * x), x);
  EXPECT_FALSE(gradient_of(x, here));
}

TEST(Gradients, OfValuesOnTheWay) {
  const Value x = leaf<double>({2}, {1});
  const Value y = x * x;
  const Value z = total(y * y * x);
  const std::vector<Value> inputs = {y, x};
  const auto found = gradients({&z, 1}, inputs, {}, {}, here);
  EXPECT_THAT(numbers(found[0]), ElementsAre(2 * 4 * 2));
  EXPECT_THAT(numbers(found[1]), ElementsAre(5 * 16));  // x^5, through y and beside it
}

TEST(Gradients, OfTheOutputItself) {
  const Value x = leaf<double>({2}, {1});
  const Value y = x * x;
  const Value loss = total(y);
  EXPECT_THAT(numbers(grad(loss, loss)), ElementsAre(1));
}

TEST(Gradients, OfAnInputThatTakesNoPart) {
  const Value x = leaf<double>({2}, {1}), other = leaf<double>({2}, {1});
  const Value loss = total(x * x);
  EXPECT_THAT(message_of([&] { grad(loss, other, {.retain_graph = true}); }), HasSubstr("input 0 does not take part"));
  EXPECT_FALSE(grad(loss, other, {.allow_unused = true}));
  EXPECT_THAT(message_of([&] { grad(loss, constant<double>({1}, {})); }), HasSubstr("input 0 does not require"));
}

// B082: the same second derivative, as often as one asks. B081: with every term.
TEST(Gradients, OfHigherOrderRepeat) {
  const Value x = leaf<double>({1, 2}, {2});
  const Value cube = total(x * x * x);
  const Value first = grad(cube, x, {.create_graph = true, .retain_graph = true});
  for (int i = 0; i < 2; ++i) EXPECT_THAT(numbers(grad(total(first), x, {.retain_graph = true})), ElementsAre(6, 12));
  const Value second = grad(total(first), x, {.create_graph = true, .retain_graph = true});
  EXPECT_THAT(numbers(grad(total(second), x)), ElementsAre(6, 6));
}

// B095: a gradient that two consumers share is a value: neither can change it for the other.
TEST(Gradients, SharedByTwoConsumersStayApart) {
  const Value x = leaf<double>({3}, {1});
  const Value a = x * 1.0, b = x * 1.0;
  run_backward(total((a + b) * 2));
  EXPECT_THAT(grad_of(x), ElementsAre(4));
}

TEST(Tape, ReleasesAChainOfAMillionWithoutRecursion) {
  Value x = leaf<double>({0}, {1});
  const Value start = x, one = constant<double>({1}, {1});
  for (int i = 0; i < 1'000'000; ++i) x = x + one;
  x = start;
}

TEST(Tape, RunsBackwardThroughALongChain) {
  const Value x = leaf<double>({1}, {1});
  Value y = x;
  for (int i = 0; i < 100'000; ++i) y = y + x;
  run_backward(total(y));
  EXPECT_THAT(grad_of(x), ElementsAre(100'001));
}

}  // namespace
}  // namespace regrow::autograd
