// SPDX-License-Identifier: Apache-2.0
// Gradient rules of operators made up for the test: what the tape saves for them, checks of them, and says when they fail.
#include "regrow/autograd/rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "regrow/tensor/half.h"
#include "tests/autograd/expression.h"

namespace regrow::autograd {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// The square of f64 elements, with a gradient rule to be chosen.
OpRecord square_with(void (*gradient)(Gradient&)) {
  OpRecord record;
  record.name = "own_square";
  record.inputs = {"x"};
  record.dtypes = [](std::span<const DType> in, const Attrs&, std::span<DType> out) { out[0] = in[0]; };
  record.infer = [](const InferCall& call) {
    call.out[0].shape = call[0].shape;
    call.out[0].strides = contiguous_strides(call[0].shape);
  };
  record.compute = [](const ComputeCall& call) {
    for (std::int64_t i = 0; i < call.in[0].count(); ++i)
      call.out[0].as<double>()[i] = call.in[0].as<double>()[i] * call.in[0].as<double>()[i];
  };
  record.gradient = gradient;
  record.saves_inputs = 0b1;
  return record;
}

// B083: a gradient of another shape is refused, though it would broadcast.
TEST(Rule, GradientOfAnotherShapeIsRefused) {
  static const OpRecord record = square_with([](Gradient& g) { g.set(0, op<"sum">({g.grad()}, {{"keepdims", true}})); });
  const Value x = leaf<double>({1, 2, 3}, {3});
  const Value y = call(Op(record), {x}, {"model.cc", 12});
  EXPECT_THAT(message_of([&] { run_backward(total(y)); }),
              AllOf(HasSubstr("own_square"), HasSubstr("(1,)"), HasSubstr("(3,)"), HasSubstr("model.cc:12")));
  EXPECT_FALSE(gradient_of(x, here));
}

// B105: an error in a rule names the forward operation and its line.
TEST(Rule, ErrorNamesTheForwardOperation) {
  static const OpRecord record = square_with([](Gradient&) { fail("the rule's own words"); });
  const Value y = call(Op(record), {leaf<double>({1}, {1})}, {"model.cc", 34});
  EXPECT_THAT(message_of([&] { run_backward(total(y)); }),
              AllOf(HasSubstr("own_square"), HasSubstr("the rule's own words"), HasSubstr("model.cc:34")));
}

TEST(Rule, MayReadOnlyWhatIsSaved) {
  static const OpRecord record = square_with([](Gradient& g) { g.set(0, g.grad() * g.out()); });
  const Value y = call(Op(record), {leaf<double>({1}, {1})});
  EXPECT_THAT(message_of([&] { run_backward(total(y)); }), HasSubstr("does not save"));
}

TEST(Rule, WithoutOneTheOperatorIsNotDifferentiable) {
  static const OpRecord record = square_with(nullptr);
  const Value x = leaf<double>({1}, {1});
  const Value y = call(Op(record), {x});
  EXPECT_THAT(message_of([&] { run_backward(total(y)); }), AllOf(HasSubstr("own_square"), HasSubstr("not differentiable")));
}

// B081: an operator that keeps an intermediate for its gradient still has the right second derivative. f(x) = (2x)^2 = 4 x^2.
TEST(Rule, SecondDerivativeThroughASavedIntermediate) {
  const Value x = leaf<double>({3}, {1});
  const Value t = x * 2;
  const Value y = t * t;
  const Value first = grad(total(y), x, {.create_graph = true, .retain_graph = true});
  EXPECT_THAT(numbers(first), ElementsAre(24));
  EXPECT_THAT(numbers(grad(total(first), x)), ElementsAre(8));
}

// The saved output leads back to the operation itself when the pass is recorded: y = exp(x).
TEST(Rule, SecondDerivativeThroughASavedOutput) {
  const Value x = leaf<double>({0}, {1});
  const Value y = call("exp", {x});
  const Value first = grad(total(y), x, {.create_graph = true, .retain_graph = true});
  const Value second = grad(total(first), x, {.create_graph = true, .retain_graph = true});
  EXPECT_THAT(numbers(second), ElementsAre(1));
  EXPECT_THAT(numbers(grad(total(second), x)), ElementsAre(1));
}

TEST(Rule, NullResultMeansNoGradientFlows) {
  static const OpRecord record = square_with([](Gradient&) {});
  const Value x = leaf<double>({5}, {1});
  run_backward(total(call(Op(record), {x}) + x));
  EXPECT_THAT(grad_of(x), ElementsAre(1));
}

}  // namespace
}  // namespace regrow::autograd
