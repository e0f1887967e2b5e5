// SPDX-License-Identifier: Apache-2.0
// Gradients of reductions and of broadcasting where the sweep's random values do not lead: ties, zeros, NaN, kept and dropped
// axes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ops/eager.h"

namespace regrow {
namespace {

using direct::array;
using direct::EagerRecorder;
using direct::numbers;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

std::vector<double> ones(std::int64_t count) { return std::vector<double>(static_cast<std::size_t>(count), 1); }

// The gradient of the sum of what `f` makes of x.
template <class F>
HostArray gradient_of(F&& f, const HostArray& x) {
  EagerRecorder recorder;
  const Var in = recorder.put(x), out = f(recorder, in);
  const Desc result = recorder.desc(out);
  const Var seed = recorder.constant(1, result.dtype, out);
  const Var repeated = op<"broadcast_to">({seed}, {{"shape", result.shape}});
  return direct::host(recorder.value(recorder.gradients({&out, 1}, {&repeated, 1}, {&in, 1}).at(0)));
}

HostArray gradient_of_reduction(const Op& reduction, const HostArray& x) {
  return gradient_of([&](EagerRecorder& recorder, Var in) { return recorder.apply(reduction, {in}); }, x);
}

// mean over axis 0 of ones(5)^2: 2 / 5 each, though no axis is kept.
TEST(ReductionGradient, OfAVectorReducedToAScalar) {
  const HostArray grad = gradient_of(
      [](EagerRecorder&, Var x) {
        return op<"mean">({x * x}, {{"axis", Axes{0}}});
      },
      array<float>({5}, ones(5)));
  EXPECT_EQ(grad.to_vector<float>(), std::vector<float>(5, 2.0f / 5.0f));
}

// A no-op broadcast must not be summed over all axes.
TEST(BroadcastGradient, OfABroadcastToTheSameShapeIsUnchanged) {
  EagerRecorder recorder;
  const Var x = recorder.put(array<float>({2, 2}, {1, 2, 3, 4})), seed = recorder.put(array<float>({2, 2}, {5, 6, 7, 8}));
  const Var out = recorder.apply(op("broadcast_to", {{"shape", Dims{2, 2}}}), {x});
  const Var grad = recorder.gradients({&out, 1}, {&seed, 1}, {&x, 1}).at(0);
  EXPECT_EQ(grad.id, seed.id);
}

struct Pair {
  Shape a, b;
};

// The gradient of each operand of a * b has that operand's shape and sums over the axes along which it was repeated.
TEST(BroadcastGradient, HasTheShapeOfTheOperand) {
  for (const Pair& shapes : {Pair{{1}, {5, 4}}, Pair{{4, 1}, {1, 4}}, Pair{{3, 1}, {2, 3, 4}}, Pair{{}, {2, 3}}}) {
    EagerRecorder recorder;
    const Var a = recorder.put(array<double>(shapes.a, ones(element_count(shapes.a))));
    const Var b = recorder.put(array<double>(shapes.b, ones(element_count(shapes.b))));
    const Var out = a * b, seed = recorder.put(array<double>(recorder.desc(out).shape, ones(recorder.desc(out).count())));
    const Var wanted[] = {a, b};
    const std::vector<Var> grads = recorder.gradients({&out, 1}, {&seed, 1}, wanted);
    for (std::size_t i = 0; i < 2; ++i) {
      const Shape& shape = recorder.desc(wanted[i]).shape;
      const HostArray grad = direct::host(recorder.value(grads[i]));
      EXPECT_EQ(grad.shape(), shape);
      const double repeats = static_cast<double>(recorder.desc(out).count() / element_count(shape));
      EXPECT_EQ(numbers(grad), std::vector<double>(static_cast<std::size_t>(element_count(shape)), repeats));
    }
  }
}

TEST(ExtremeGradient, IsSharedEquallyAmongTies) {
  const HostArray x = array<float>({2, 4}, {1, 7, 7, 0, 3, 3, 3, 3});
  EXPECT_THAT(numbers(gradient_of_reduction(op("max", {{"axis", Axes{1}}}), x)),
              ElementsAre(0, 0.5, 0.5, 0, 0.25, 0.25, 0.25, 0.25));
  EXPECT_THAT(numbers(gradient_of_reduction(op("min"), x)), ElementsAre(0, 0, 0, 1, 0, 0, 0, 0));
}

TEST(ExtremeGradient, OfANaNGoesNowhere) {
  const HostArray x = array<float>({3}, {1, std::numeric_limits<double>::quiet_NaN(), 2});
  EXPECT_THAT(numbers(gradient_of_reduction(op("max"), x)), ElementsAre(0, 0, 0));
}

TEST(ProdGradient, IsRightWhereThereAreZeros) {
  EXPECT_THAT(numbers(gradient_of_reduction(op("prod"), array<float>({4}, {2, 0, 3, 5}))), ElementsAre(0, 30, 0, 0));
  EXPECT_THAT(numbers(gradient_of_reduction(op("prod"), array<float>({3}, {0, 0, 3}))), ElementsAre(0, 0, 0));
  EXPECT_THAT(numbers(gradient_of_reduction(op("prod", {{"axis", Axes{0}}}), array<float>({1, 2}, {0, 4}))), ElementsAre(1, 1));
}

TEST(SumGradient, ComesBackInTheTypeOfTheInput) {
  const HostArray grad = gradient_of_reduction(op("sum", {{"dtype", DType::f64}}), array<float>({3}, {1, 2, 3}));
  EXPECT_EQ(grad.to_vector<float>(), (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(gradient_of_reduction(op("prod", {{"dtype", DType::f64}}), array<float>({3}, {1, 2, 3})).to_vector<float>(),
            (std::vector<float>{6, 3, 2}));
}

TEST(ReductionGradient, OfNothingIsEmpty) {
  for (const char* name : {"sum", "mean", "prod"})
    for (const Axes& axes : {Axes{}, Axes{0}, Axes{1}})
      EXPECT_EQ(gradient_of_reduction(op(name, {{"axis", axes}}), array<float>({2, 0}, {})).shape(), (Shape{2, 0})) << name;
}

// x[[1, 2]] of b[[1, 1]], backward twice: both times the same.
TEST(TakeGradient, AskedForTwiceIsTheSame) {
  EagerRecorder recorder;
  const Var b = recorder.put(array<double>({3}, {1, 2, 3})), index = recorder.put(array<std::int64_t>({2}, {1, 1}));
  const Var out = recorder.apply(op("take", {{"axis", 0}}), {b, index}), squared = out * out;
  const Var seed = recorder.put(array<double>({2}, {1, 1}));
  for (int time = 0; time < 2; ++time) {
    const Var grad = recorder.gradients({&squared, 1}, {&seed, 1}, {&b, 1}).at(0);
    EXPECT_THAT(numbers(direct::host(recorder.value(grad))), ElementsAre(0, 8, 0));
  }
}

}  // namespace
}  // namespace regrow
