// SPDX-License-Identifier: Apache-2.0
// Elementwise operators: types, shapes, strides, errors and values. Expected values: NumPy 1.24, or the rules that the records
// state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/direct.h"

namespace regrow {
namespace {

using direct::array;
using direct::call;
using direct::error_of;
using direct::infer_from;
using direct::numbers;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Desc dense(DType dtype, const Shape& shape) { return Desc::dense(dtype, shape); }

DType type_of(std::string_view name, DType a, DType b) {
  return infer_from(op(name), {dense(a, {2}), dense(b, {2})}).at(0).dtype;
}
DType type_of(std::string_view name, DType x) { return infer_from(op(name), {dense(x, {2})}).at(0).dtype; }

TEST(ElementwiseTypes, ArePromoted) {
  EXPECT_EQ(type_of("add", DType::i8, DType::u8), DType::i16);
  EXPECT_EQ(type_of("multiply", DType::f16, DType::bf16), DType::f32);
  EXPECT_EQ(type_of("add", DType::i64, DType::f16), DType::f16);
  EXPECT_EQ(type_of("add", DType::boolean, DType::boolean), DType::boolean);
  EXPECT_EQ(type_of("less", DType::f64, DType::i8), DType::boolean);
}

TEST(ElementwiseTypes, OfFunctionsThatLeaveTheIntegersAreFloating) {
  EXPECT_EQ(type_of("divide", DType::i64, DType::i8), DType::f32);
  EXPECT_EQ(type_of("divide", DType::i64, DType::f64), DType::f64);
  EXPECT_EQ(type_of("exp", DType::boolean), DType::f32);
  EXPECT_EQ(type_of("sqrt", DType::bf16), DType::bf16);
  EXPECT_EQ(type_of("floor", DType::u8), DType::u8);
  EXPECT_EQ(type_of("floor_divide", DType::i16, DType::u8), DType::i16);
}

TEST(ElementwiseTypes, ThatAnOperatorDoesNotTakeAreNamed) {
  EXPECT_THAT(error_of([] { type_of("subtract", DType::boolean, DType::boolean); }),
              HasSubstr("subtract: is not defined for bool"));
  EXPECT_THAT(error_of([] { type_of("negative", DType::boolean); }), HasSubstr("negative: is not defined for bool"));
}

TEST(ElementwiseShapes, Broadcast) {
  const auto shape = [](const Shape& a, const Shape& b) {
    return infer_from(op("add"), {dense(DType::f32, a), dense(DType::f32, b)}).at(0).shape;
  };
  EXPECT_EQ(shape({2, 1, 4}, {3, 1}), (Shape{2, 3, 4}));
  EXPECT_EQ(shape({}, {3}), (Shape{3}));
  EXPECT_EQ(shape({0, 3}, {1}), (Shape{0, 3}));
  EXPECT_EQ(shape({1}, {0}), (Shape{0}));
  EXPECT_THAT(error_of([&] { shape({2, 3}, {4}); }), HasSubstr("add: shapes (2, 3) and (4,) do not broadcast"));
}

TEST(ElementwiseStrides, FollowTheFirstInputOfFullShape) {
  const Shape shape{2, 3, 4, 5};
  Desc last = dense(DType::f32, shape);
  last.strides = channels_last_strides(shape);
  const Desc row = dense(DType::f32, {1, 3, 1, 1}), plain = dense(DType::f32, shape);
  EXPECT_EQ(infer_from(op("add"), {row, last}).at(0).strides, last.strides);
  EXPECT_EQ(infer_from(op("add"), {last, plain}).at(0).strides, last.strides);
  EXPECT_EQ(infer_from(op("add"), {plain, last}).at(0).strides, last.strides);  // activations stay channels-last
  // Dense whatever the input is: neither gaps nor repetition nor a negative direction are kept.
  Desc gaps = dense(DType::f32, {3, 4}), repeated = dense(DType::f32, {3, 4}), turned = dense(DType::f32, {3, 4});
  gaps.strides = {1, 6}, repeated.strides = {0, 1}, turned.strides = {-4, -1};
  EXPECT_EQ(infer_from(op("exp"), {gaps}).at(0).strides, (Strides{1, 3}));
  EXPECT_TRUE(is_dense({3, 4}, infer_from(op("exp"), {repeated}).at(0).strides));
  EXPECT_EQ(infer_from(op("exp"), {turned}).at(0).strides, (Strides{4, 1}));
}

TEST(Elementwise, MixedTypesComputeInThePromotedOne) {
  EXPECT_THAT(numbers(call(op("add"), {array<std::int8_t>({2}, {100, -100}), array<std::uint8_t>({2}, {200, 1})})),
              ElementsAre(300, -99));
  EXPECT_THAT(numbers(call(op("divide"), {array<std::int32_t>({3}, {1, -3, 0}), array<std::int32_t>({3}, {4, 2, 5})})),
              ElementsAre(0.25, -1.5, 0));
  EXPECT_THAT(numbers(call(op("maximum"), {array<bool>({2}, {1, 0}), array<std::int16_t>({2}, {-5, -5})})), ElementsAre(1, 0));
  EXPECT_THAT(numbers(call(op("less"), {array<std::int8_t>({1}, {-1}), array<std::uint32_t>({1}, {1})})), ElementsAre(1));
}

// np.float16(0.1) * np.float16(3): computed in f32, rounded once.
TEST(Elementwise, SixteenBitResultsAreRoundedOnce) {
  EXPECT_THAT(numbers(call(op("multiply"), {array<Half>({1}, {0.1}), array<Half>({1}, {3})})), ElementsAre(0.2998046875));
  EXPECT_THAT(numbers(call(op("add"), {array<BFloat16>({1}, {256}), array<BFloat16>({1}, {1})})), ElementsAre(256));
  EXPECT_THAT(numbers(call(op("exp"), {array<Half>({1}, {12})})), ElementsAre(INFINITY));
}

TEST(Where, ChoosesByAnythingThatIsNotZero) {
  const HostArray a = array<float>({3}, {1, 2, 3}), b = array<std::int64_t>({1}, {-7});
  EXPECT_THAT(numbers(call(op("where"), {array<float>({3}, {0.5, 0, -0.0}), a, b})), ElementsAre(1, -7, -7));
  EXPECT_EQ(call(op("where"), {array<bool>({1}, {1}), array<Half>({1}, {1}), array<Half>({1}, {2})}).dtype(), DType::f16);
}

TEST(Cast, ConvertsAsItsDocumentationSays) {
  const auto cast = [](const HostArray& x, DType to) { return numbers(call(op("cast", {{"dtype", to}}), {x})); };
  EXPECT_THAT(cast(array<float>({4}, {-1.9, 300, NAN, -INFINITY}), DType::u8), ElementsAre(0, 255, 0, 0));
  EXPECT_THAT(cast(array<std::int32_t>({3}, {-1, 256, 65535}), DType::u8), ElementsAre(255, 0, 255));
  EXPECT_THAT(cast(array<float>({3}, {0.0, 0.25, NAN}), DType::boolean), ElementsAre(0, 1, 1));
  EXPECT_THAT(cast(array<bool>({2}, {1, 0}), DType::bf16), ElementsAre(1, 0));
}

TEST(Full, HasTheTypeOfItsValueUnlessToldOtherwise) {
  const auto full = [](Scalar value) { return call(op("full", {{"shape", Dims{2}}, {"value", value}}), {}); };
  EXPECT_EQ(full(true).dtype(), DType::boolean);
  EXPECT_EQ(full(3).dtype(), DType::i64);
  EXPECT_EQ(full(0.5).dtype(), DType::f32);
  EXPECT_THAT(numbers(full(0.5)), ElementsAre(0.5, 0.5));
  EXPECT_THAT(error_of([] {
                call(op("full", {{"shape", Dims{2}}, {"value", Scalar(300)}, {"dtype", DType::u8}}), {});
              }),
              HasSubstr("full: 300 does not fit in u8"));
  EXPECT_THAT(error_of([] {
                call(op("full", {{"shape", Dims{-2}}, {"value", Scalar(1)}}), {});
              }),
              HasSubstr("full: a shape may not be negative"));
}

TEST(Arange, StopsBeforeItsEnd) {
  const auto arange = [](Scalar start, Scalar stop, Scalar step) {
    return call(op("arange", {{"start", start}, {"stop", stop}, {"step", step}}), {});
  };
  EXPECT_THAT(numbers(arange(0, 5, 2)), ElementsAre(0, 2, 4));
  EXPECT_THAT(numbers(arange(5, 0, -2)), ElementsAre(5, 3, 1));
  EXPECT_EQ(arange(0, 5, 2).dtype(), DType::i64);
  EXPECT_THAT(numbers(arange(0.5, 2, 0.5)), ElementsAre(0.5, 1, 1.5));
  EXPECT_EQ(arange(0.5, 2, 0.5).dtype(), DType::f32);
  EXPECT_EQ(arange(3, 3, 1).count(), 0);
  EXPECT_EQ(arange(3, 0, 1).count(), 0);
  EXPECT_THAT(numbers(arange(INT64_MIN, INT64_MAX, INT64_MAX)).size(), 3u);
  EXPECT_THAT(error_of([&] { arange(0, 1, 0); }), HasSubstr("arange: the step must not be 0"));
  EXPECT_THAT(error_of([&] { arange(0, INFINITY, 1.0); }), HasSubstr("not a finite number of elements"));
  EXPECT_THAT(error_of([] {
                call(op("arange", {{"stop", Scalar(300)}, {"dtype", DType::i8}}), {});
              }),
              HasSubstr("299 does not fit in i8"));
}

TEST(Linspace, EndsExactlyWhereItShould) {
  const auto linspace = [](std::int64_t count, bool endpoint) {
    return numbers(call(
        op("linspace", {{"start", 0.0}, {"stop", 0.7}, {"count", count}, {"endpoint", endpoint}, {"dtype", DType::f64}}), {}));
  };
  EXPECT_EQ(linspace(8, true).back(), 0.7);
  EXPECT_THAT(linspace(2, false), ElementsAre(0, 0.35));
  EXPECT_THAT(linspace(1, true), ElementsAre(0));
}

TEST(Eye, HasOnesOnItsDiagonal) {
  const auto eye = [](std::int64_t rows, std::int64_t columns, std::int64_t diagonal) {
    return numbers(call(op("eye", {{"rows", rows}, {"columns", columns}, {"diagonal", diagonal}}), {}));
  };
  EXPECT_THAT(eye(2, 3, 0), ElementsAre(1, 0, 0, 0, 1, 0));
  EXPECT_THAT(eye(2, 3, 2), ElementsAre(0, 0, 1, 0, 0, 0));
  EXPECT_THAT(eye(3, 2, -1), ElementsAre(0, 0, 1, 0, 0, 1));
  EXPECT_THAT(eye(2, 2, 5), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(eye(2, 2, -5), ElementsAre(0, 0, 0, 0));
}

}  // namespace
}  // namespace regrow
