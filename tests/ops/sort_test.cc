// SPDX-License-Identifier: Apache-2.0
// Sorting. Expected values: NumPy 1.24, or by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "tests/ops/draw.h"

namespace regrow {
namespace {

using direct::array;
using direct::call;
using direct::call_all;
using direct::error_of;
using direct::numbers;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

HostArray floats(const std::vector<float>& values) { return HostArray::from(values, {static_cast<std::int64_t>(values.size())}); }

Op descending(std::string_view name) { return op(name, {{"descending", true}}); }

// Row B108 of the catalogue of faults: the sign bit of a NaN, and its payload, decide nothing.
TEST(Sort, PutsEveryNaNAboveTheNumbers) {
  const float inf = std::numeric_limits<float>::infinity();
  const float minus_nan = std::bit_cast<float>(0xffc00000u), nan = std::bit_cast<float>(0x7fc00000u),
              payload = std::bit_cast<float>(0x7f800001u);
  const HostArray x = floats({minus_nan, 3, inf, payload, -inf, nan, 1});
  EXPECT_THAT(numbers(call(op("argsort"), {x})), ElementsAre(4, 6, 1, 2, 0, 3, 5));
  EXPECT_THAT(numbers(call(descending("argsort"), {x})), ElementsAre(0, 3, 5, 2, 1, 6, 4));
  EXPECT_THAT(numbers(call_all(op("top_k", {{"k", 4}}), std::vector{x})[1]), ElementsAre(0, 3, 5, 2));
  EXPECT_THAT(numbers(call_all(op("top_k", {{"k", 2}, {"largest", false}}), std::vector{x})[1]), ElementsAre(4, 6));
  const std::vector<float> sorted = call(op("sort"), {x}).to_vector<float>();
  EXPECT_EQ(std::bit_cast<std::uint32_t>(sorted[4]), 0xffc00000u);  // elements keep their bits
  EXPECT_EQ(std::bit_cast<std::uint32_t>(sorted[5]), 0x7f800001u);
}

TEST(Sort, IsStable) {
  const HostArray x = floats({0.f, -0.f, 1, 0.f, 1, -0.f});
  EXPECT_THAT(numbers(call(op("argsort"), {x})), ElementsAre(0, 1, 3, 5, 2, 4));
  EXPECT_THAT(numbers(call(descending("argsort"), {x})), ElementsAre(2, 4, 0, 1, 3, 5));
  const std::vector<float> sorted = call(op("sort"), {x}).to_vector<float>();
  EXPECT_FALSE(std::signbit(sorted[0]));
  EXPECT_TRUE(std::signbit(sorted[1]));
}

TEST(Sort, OrdersTheLimitsOfIntegers) {
  const auto order = [](const auto& values) { return numbers(call(op("argsort"), {HostArray::from(values, {3})})); };
  EXPECT_THAT(order(std::vector<std::int64_t>{INT64_MAX, INT64_MIN, -1}), ElementsAre(1, 2, 0));
  EXPECT_THAT(order(std::vector<std::int8_t>{127, -128, 0}), ElementsAre(1, 2, 0));
  EXPECT_THAT(order(std::vector<std::uint64_t>{UINT64_MAX, 0, std::uint64_t{1} << 63}), ElementsAre(1, 2, 0));
  EXPECT_THAT(order(std::vector<bool>{true, false, true}), ElementsAre(1, 0, 2));
}

TEST(TopK, OfTooManyIsRefused) {
  EXPECT_EQ(error_of([] {
              call_all(op("top_k", {{"k", 4}}), std::vector{floats({1, 2, 3})});
            }),
            "top_k: there are no 4 elements along axis 0 of size 3 (inputs: f32(3,))");
  EXPECT_THAT(error_of([] { call(op("sort"), {HostArray::scalar(1.0, DType::f32)}); }),
              HasSubstr("axis -1 is out of range for 0 axes"));
}

// Long lines of a narrow type have many equal elements; the values are those of the indices.
TEST(Sort, AgreesWithItsIndices) {
  for (DType dtype : {DType::u8, DType::f16, DType::f32, DType::f64, DType::i64}) {
    const HostArray x = direct::draw(dtype, {5000, 3}, 0, 50, 1);
    const Op sort = op("sort", {{"axis", 0}}), argsort = op("argsort", {{"axis", 0}}),
             take = op("take_along_axis", {{"axis", 0}});
    const HostArray places = call(argsort, {x}), sorted = call(sort, {x});
    EXPECT_TRUE(direct::same_bits(sorted, call(take, {x, places})));
    const std::vector<double> values = numbers(sorted), at = numbers(places);
    for (std::size_t i = 3; i < values.size(); ++i)
      ASSERT_TRUE(values[i - 3] < values[i] || (values[i - 3] == values[i] && at[i - 3] < at[i])) << i;
  }
}

}  // namespace
}  // namespace regrow
