// SPDX-License-Identifier: Apache-2.0
// Running sums, products and extremes. Expected values: NumPy 1.24, or by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/draw.h"
#include "tests/ops/eager.h"

namespace regrow {
namespace {

using direct::array;
using direct::call;
using direct::numbers;
using ::testing::ElementsAre;

// B147: naive f16 stops at 1024, where half a unit in the last place is 0.5. The right sum, 50000, lies between two numbers of
// f16.
TEST(CumulativeSum, OfSmallStepsInHalfPrecisionDoesNotStall) {
  const HostArray steps = array<Half>({100000}, std::vector<double>(100000, 0.5));
  EXPECT_EQ(numbers(call(op("cumulative_sum"), {steps})).back(), 49984);
  EXPECT_EQ(numbers(call(op("cumulative_sum", {{"dtype", DType::f32}}), {steps})).back(), 50000);
  const HostArray thirds = array<float>({3000000}, std::vector<double>(3000000, 1.0 / 3));
  EXPECT_EQ(numbers(call(op("cumulative_sum"), {thirds})).back(), 1000000);  // numpy, in f64, rounded
}

TEST(CumulativeSum, WidensIntegersAndWraps) {
  const HostArray sums = call(op("cumulative_sum"), {array<std::uint8_t>({3}, {200, 100, 255})});
  EXPECT_EQ(sums.dtype(), DType::u64);
  EXPECT_THAT(numbers(sums), ElementsAre(200, 300, 555));
  const HostArray most = HostArray::from(std::vector<std::int64_t>{INT64_MAX, 1, 1}, {3});
  EXPECT_THAT(call(op("cumulative_sum"), {most}).to_vector<std::int64_t>(), ElementsAre(INT64_MAX, INT64_MIN, INT64_MIN + 1));
  EXPECT_THAT(numbers(call(op("cumulative_sum"), {array<bool>({4}, {1, 0, 1, 1})})), ElementsAre(1, 1, 2, 3));
  const HostArray half = call(op("cumulative_sum", {{"dtype", DType::f32}}), {array<Half>({2}, {60000, 60000})});
  EXPECT_THAT(numbers(half), ElementsAre(60000, 120000));
}

TEST(CumulativeSum, GoesBackwards) {
  const HostArray x = array<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(numbers(call(op("cumulative_sum", {{"reverse", true}}), {x})), ElementsAre(6, 5, 3, 15, 11, 6));
  EXPECT_THAT(numbers(call(op("cumulative_sum", {{"axis", 0}}), {x})), ElementsAre(1, 2, 3, 5, 7, 9));
}

// B134: of a view with a negative step, in place.
TEST(CumulativeMin, OfAReversedViewInPlace) {
  const HostArray x = array<std::int64_t>({5}, {5, 3, 4, 1, 2});
  const direct::Value reversed = direct::value_of(array<std::int64_t>({5}, {2, 1, 4, 3, 5}), Strides{-1});
  const HostArray expected = array<std::int64_t>({5}, {2, 1, 1, 1, 1});
  EXPECT_TRUE(direct::same_bits(direct::host(direct::run(op("cumulative_min"), {reversed}).at(0)), expected));
  const direct::Value over = direct::value_of(array<std::int64_t>({5}, {2, 1, 4, 3, 5}));
  EXPECT_TRUE(direct::same_bits(direct::host(direct::run(op("cumulative_min"), {over}, {.in_place = 0}).at(0)), expected));
  EXPECT_THAT(numbers(call(op("cumulative_min", {{"reverse", true}}), {x})), ElementsAre(1, 1, 1, 1, 2));
}

TEST(CumulativeMax, KeepsNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> most = numbers(call(op("cumulative_max"), {array<double>({4}, {1, nan, 3, 2})}));
  EXPECT_EQ(most[0], 1);
  for (int i : {1, 2, 3}) EXPECT_TRUE(std::isnan(most[static_cast<std::size_t>(i)]));
}

// B088: along an axis of no elements there is a gradient, of no elements.
TEST(Cumulative, GradientOfNothing) {
  for (std::string_view name : {"cumulative_sum", "cumulative_prod", "cumulative_max", "cumulative_min"}) {
    direct::EagerRecorder recorder;
    const Var x = recorder.put(array<float>({2, 0}, {})), y = recorder.apply(op(name), {x}),
              seed = recorder.put(array<float>({2, 0}, {}));
    const Var grad = recorder.gradients({&y, 1}, {&seed, 1}, {&x, 1}).at(0);
    ASSERT_TRUE(grad) << name;
    EXPECT_EQ(recorder.desc(grad).shape, (Shape{2, 0})) << name;
  }
}

// d/dx of the sum of [x0, x0 x1, x0 x1 x2]: no division by the zeros.
TEST(CumulativeProd, GradientAtZeros) {
  direct::EagerRecorder recorder;
  const Var x = recorder.put(array<double>({4}, {2, 0, 3, 0})), y = recorder.apply(op("cumulative_prod"), {x});
  const Var seed = recorder.put(array<double>({4}, {1, 1, 1, 1}));
  const Var grad = recorder.gradients({&y, 1}, {&seed, 1}, {&x, 1}).at(0);
  EXPECT_THAT(numbers(direct::host(recorder.value(grad))), ElementsAre(1, 8, 0, 0));
}

// The gradient of what stands still goes to the last of equal elements, as a running maximum keeps the place of the last.
TEST(CumulativeMax, GradientOfEqualElements) {
  direct::EagerRecorder recorder;
  const Var x = recorder.put(array<double>({5}, {1, 3, 3, 2, 4})), y = recorder.apply(op("cumulative_max"), {x});
  const Var seed = recorder.put(array<double>({5}, {1, 10, 100, 1000, 10000}));
  const Var grad = recorder.gradients({&y, 1}, {&seed, 1}, {&x, 1}).at(0);
  EXPECT_THAT(numbers(direct::host(recorder.value(grad))), ElementsAre(1, 10, 1100, 0, 10000));
}

// Neighbouring lines are walked together or one by one: the same bits.
TEST(Cumulative, OfLinesTogetherIsThatOfEachAlone) {
  const HostArray x = direct::draw(DType::f32, {37, 200}, -1, 1, 3);
  const HostArray together = call(op("cumulative_sum", {{"axis", 0}}), {x});
  const direct::Value columns = direct::value_of(x, Strides{1, 37});
  EXPECT_TRUE(direct::same_bits(direct::host(direct::run(op("cumulative_sum", {{"axis", 0}}), {columns}).at(0)), together));
}

}  // namespace
}  // namespace regrow
