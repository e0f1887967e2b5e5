// SPDX-License-Identifier: Apache-2.0
// Functions with a gradient of their own, and value_and_grad. Expected values by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "regrow/engine/default_channel.h"
#include "regrow/frontend/create.h"
#include "regrow/frontend/derived.h"
#include "regrow/frontend/grad.h"

namespace regrow {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using Tensors = std::vector<Tensor>;

std::vector<double> numbers(const Tensor& x) { return x.to_vector<double>(); }
Tensor leaf(std::initializer_list<Literal> values) { return tensor(values, {.dtype = DType::f64}).requires_grad(); }

template <class F>
std::string message_of(F&& run) {
  try {
    run();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

// x^2, whose gradient is said to be 10 times what it is.
Tensor loud_square(const Tensor& x) {
  return custom_gradient({x},
                         [](const Tensors& in) -> CustomResult {
                           return {.outputs = {square(in[0])},
                                   .gradient = [x = in[0]](const Tensors& g) { return Tensors{g[0] * x * 20}; }};
                         })
      .at(0);
}

TEST(CustomGradient, IsTakenInThePlaceOfTheReal) {
  const Tensor x = leaf({1, 2});
  const Tensor y = loud_square(x);
  EXPECT_THAT(numbers(y), ElementsAre(1, 4));
  sum(y * 2).backward();
  EXPECT_THAT(numbers(x.grad()), ElementsAre(40, 80));
}

TEST(CustomGradient, OfSeveralInputsAndOutputs) {
  const Tensor a = leaf({2}), b = leaf({3}), constant = tensor({5.0});
  const Tensors out = custom_gradient({a, b, constant}, [](const Tensors& in) -> CustomResult {
    return {.outputs = {in[0] * in[1], in[0] + in[1] + in[2]}, .gradient = [a = in[0], b = in[1]](const Tensors& g) {
              return Tensors{g[0] * b + g[1], g[0] * a + g[1], Tensor()};
            }};
  });
  EXPECT_THAT(numbers(grad(out[0], {a, b}, {.retain_graph = true}).at(1)), ElementsAre(2));
  EXPECT_THAT(numbers(grad(out[1], {a}, {.retain_graph = true}).at(0)), ElementsAre(1));  // nothing flowed into the other output
  (out[0] * 10 + out[1]).backward();
  EXPECT_THAT(numbers(a.grad()), ElementsAre(31));
  EXPECT_THAT(numbers(b.grad()), ElementsAre(21));
}

// B081: y = (2 x)^2 by way of t = 2 x, which the gradient keeps: the second derivative is 8, with every term.
TEST(CustomGradient, SecondDerivativesFollowWhatItKeeps) {
  const Tensor x = leaf({3});
  const Tensor y = custom_gradient({x}, [](const Tensors& in) -> CustomResult {
                     const Tensor t = in[0] * 2;
                     return {.outputs = {t * t}, .gradient = [t](const Tensors& g) { return Tensors{g[0] * t * 4}; }};
                   }).at(0);
  const Tensor first = grad(y, {x}, {.create_graph = true}).at(0);
  EXPECT_THAT(numbers(first), ElementsAre(24));
  EXPECT_THAT(numbers(grad(first, {x}).at(0)), ElementsAre(8));
}

// B082: the same second derivative as often as one asks, of a product that keeps input and output.
TEST(CustomGradient, SecondDerivativesRepeat) {
  const Tensor x = leaf({3}), y = leaf({5});
  const Tensor z = custom_gradient({x, y}, [](const Tensors& in) -> CustomResult {
                     const Tensor product = in[0] * in[1];
                     return {.outputs = {product}, .gradient = [x = in[0], product](const Tensors& g) {
                               return Tensors{g[0] * product / x, g[0] * x};
                             }};
                   }).at(0);
  const Tensor dx = grad(z, {x}, {.create_graph = true}).at(0);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(numbers(grad(dx, {y}, {.retain_graph = true}).at(0)), ElementsAre(1));
}

// B083
TEST(CustomGradient, OfAnotherShapeIsRefusedAtBothOrders) {
  const Tensor x = leaf({1, 2, 3});
  const auto wrong = [&](const std::function<Tensor(const Tensor&)>& gradient) {
    return custom_gradient({x},
                           [&](const Tensors& in) -> CustomResult {
                             return {.outputs = {in[0] * 1},
                                     .gradient = [gradient](const Tensors& g) { return Tensors{gradient(g[0])}; }};
                           })
        .at(0);
  };
  EXPECT_THAT(message_of([&] { sum(wrong([](const Tensor& g) { return sum(g, {.keepdims = true}); })).backward(); }),
              AllOf(HasSubstr("custom_gradient"), HasSubstr("(1,)"), HasSubstr("(3,)"), HasSubstr("custom_gradient_test.cc")));
  EXPECT_FALSE(x.grad().defined());
  EXPECT_THROW(grad(sum(wrong([](const Tensor& g) { return sum(g); })), {x}, {.create_graph = true}), Error);
  const auto none = custom_gradient({x}, [](const Tensors& in) -> CustomResult {
    return {.outputs = {in[0] * 1}, .gradient = [](const Tensors&) { return Tensors{}; }};
  });
  EXPECT_THAT(message_of([&] { sum(none[0]).backward(); }), HasSubstr("0 gradients were returned for 1 inputs"));
}

// B095: a gradient that another consumer reads too is a value; scaling it changes nobody else's.
TEST(CustomGradient, CannotChangeTheGradientOfOthers) {
  const Tensor x = leaf({3});
  const Tensor shared = x * 1;
  const Tensor scaled = custom_gradient({shared}, [](const Tensors& in) -> CustomResult {
                          return {.outputs = {in[0] * 1}, .gradient = [](const Tensors& g) {
                                    Tensor mine = g[0];
                                    mine *= 100;
                                    return Tensors{mine};
                                  }};
                        }).at(0);
  (scaled + shared).backward();
  EXPECT_THAT(numbers(x.grad()), ElementsAre(101));
}

// B098, B099
TEST(CustomGradient, IsReleasedWithItsGraph) {
  const Tensor x = leaf({2});
  const Tensor y = loud_square(x);
  grad(y, {x}, {.retain_graph = true});
  grad(y, {x});
  EXPECT_THAT(message_of([&] { grad(y, {x}); }), HasSubstr("retain_graph"));
}

struct OwnError : std::logic_error {
  using std::logic_error::logic_error;
};

// B105: the exception arrives as it was thrown; an Error names the forward line.
TEST(CustomGradient, ErrorsKeepTheirTypeAndSayWhere) {
  const Tensor x = leaf({2});
  const auto failing = [&](const std::function<void()>& fail) {
    return custom_gradient({x},
                           [&](const Tensors& in) -> CustomResult {
                             return {.outputs = {in[0] * 1}, .gradient = [fail](const Tensors& g) { return fail(), g; }};
                           })
        .at(0);
  };
  EXPECT_THROW(failing([] { throw OwnError("mine"); }).backward(), OwnError);
  EXPECT_THAT(message_of([&] { failing([] { fail("my own words"); }).backward(); }),
              AllOf(HasSubstr("backward of custom_gradient: my own words"), HasSubstr("custom_gradient_test.cc")));
  EXPECT_FALSE(x.grad().defined());
  loud_square(x).backward();  // the engine goes on
  EXPECT_THAT(numbers(x.grad()), ElementsAre(40));
}

// B044, B045, B048: a gradient that keeps its output or a view of it, and one that takes gradients itself, leave nothing behind.
TEST(CustomGradient, LeavesNothingBehind) {
  sync();
  const auto run = [] {
    const Tensor x = ones({1000}, {.dtype = DType::f64}).requires_grad();
    const Tensor y = custom_gradient({x}, [](const Tensors& in) -> CustomResult {
                       const Tensor out = in[0] + 1, view = out.reshape({10, 100});
                       return {.outputs = {out}, .gradient = [in, out, view](const Tensors& g) {
                                 GradMode recorded(true);
                                 const Tensor inner = in[0].detach().requires_grad();
                                 return Tensors{g[0] * grad(sum(square(inner)), {inner}).at(0) + view.reshape({1000}) - out};
                               }};
                     }).at(0);
    const Tensor first = grad(sum(y), {x}, {.create_graph = true}).at(0);
    sum(square(y)).backward();
    custom_gradient({x}, [](const Tensors& in) -> CustomResult {  // never run backward
      const Tensor out = in[0] * 2;
      return {.outputs = {out}, .gradient = [out](const Tensors& g) { return Tensors{g[0] * out}; }};
    });
    return first.to_vector<double>()[0];
  };
  EXPECT_EQ(run(), 2);
  const std::size_t before = memory().live_bytes;
  for (int i = 0; i < 20; ++i) run();
  EXPECT_EQ(memory().live_bytes, before);
}

// A pass inside a pass may not walk over what the outer one is at work on, and must not hang.
TEST(CustomGradient, PassesInsideMeetNoOther) {
  const Tensor x = leaf({2});
  const Tensor common = x * 3;
  const auto entangled = [&] {
    return custom_gradient({common},
                           [&](const Tensors& in) -> CustomResult {
                             return {.outputs = {in[0] * 1}, .gradient = [common](const Tensors& g) {
                                       GradMode recorded(true);
                       return Tensors{grad(sum(common * common), {common}).at(0) * g[0]};
                                     }};
                           })
        .at(0);
  };
  // `common` waits for this pass with a gradient from its other use.
  EXPECT_THAT(message_of([&] { (common + entangled()).backward(); }), HasSubstr("outer one is at work"));
  EXPECT_FALSE(x.grad().defined());
  sum(x * x).backward();  // no mark was left behind
  EXPECT_THAT(numbers(x.grad()), ElementsAre(4));
}

TEST(CustomGradient, WithoutGradientsItIsTheFunction) {
  const Tensor y = loud_square(tensor({3.0}));
  EXPECT_FALSE(y.needs_grad());
  EXPECT_THAT(numbers(y), ElementsAre(9));
  NoGrad guard;
  EXPECT_FALSE(loud_square(leaf({3})).needs_grad());
}

// B100: asking for the gradient of a value on the way, in a loop that rebinds it.
TEST(CustomGradient, IsPassedOnTheWayToAnything) {
  Tensor n = leaf({1});
  for (int i = 0; i < 3; ++i) {
    const Tensor y = loud_square(n);
    EXPECT_NEAR(numbers(grad(y * y, {y}, {.retain_graph = true}).at(0))[0], 2 * numbers(y)[0], 1e-12);
    EXPECT_NEAR(numbers(grad(y, {n}).at(0))[0], 20 * (1 + i), 1e-12);
    n = (n + 1).detach().requires_grad();
  }
}

TEST(ValueAndGrad, OfAFunctionOfSeveralArguments) {
  const auto f = [](const Tensors& in) { return sum(in[0] * in[0] * in[1]); };
  const ValueAndGrad found = value_and_grad(f, {tensor({1.0, 2.0}), tensor({3.0, 4.0})});
  EXPECT_EQ(found.value.item<double>(), 19);
  EXPECT_FALSE(found.value.needs_grad());
  EXPECT_THAT(numbers(found.grads.at(0)), ElementsAre(6, 16));
  EXPECT_THAT(numbers(found.grads.at(1)), ElementsAre(1, 4));
}

TEST(ValueAndGrad, TouchesNoCellAndCountsTheArgumentAlone) {
  const Tensor x = leaf({3});
  const ValueAndGrad found = value_and_grad([&](const Tensors& in) { return sum(in[0] * x); }, {x});
  EXPECT_THAT(numbers(found.grads.at(0)), ElementsAre(3));  // not 6: the x that is captured is another
  EXPECT_FALSE(x.grad().defined());
  NoGrad guard;
  EXPECT_THAT(numbers(value_and_grad([](const Tensors& in) { return sum(square(in[0])); }, {x}).grads.at(0)), ElementsAre(6));
}

TEST(ValueAndGrad, NestsToHigherOrders) {
  const auto derivative = [](const std::function<Tensor(const Tensors&)>& f) {
    return [f](const Tensors& in) { return sum(value_and_grad(f, in, {.create_graph = true}).grads.at(0)); };
  };
  const auto cube = [](const Tensors& in) { return sum(in[0] * in[0] * in[0]); };
  EXPECT_EQ(derivative(cube)({tensor({2.0})}).item<double>(), 12);
  EXPECT_EQ(derivative(derivative(cube))({tensor({2.0})}).item<double>(), 12);
  EXPECT_EQ(derivative(derivative(derivative(cube)))({tensor({2.0})}).item<double>(), 6);
}

TEST(ValueAndGrad, OfParameters) {
  const Parameter w(tensor({2.0})), b(tensor({1.0})), unused(tensor({1.0}));
  const auto loss = [&] { return sum(square(w.value() * 3 + b.value())); };
  const ValueAndGrad found = value_and_grad(loss, {w, b});
  EXPECT_EQ(found.value.item<double>(), 49);
  EXPECT_THAT(numbers(found.grads.at(0)), ElementsAre(42));
  EXPECT_THAT(numbers(found.grads.at(1)), ElementsAre(14));
  EXPECT_FALSE(w.grad().defined());
  EXPECT_THROW(value_and_grad(loss, {unused}), Error);
  EXPECT_FALSE(value_and_grad(loss, {unused}, {.allow_unused = true}).grads.at(0).defined());
}

}  // namespace
}  // namespace regrow
