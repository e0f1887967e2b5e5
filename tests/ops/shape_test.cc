// SPDX-License-Identifier: Apache-2.0
// Operators that move elements or say how they lie. Expected values: NumPy 1.24.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/ops/direct.h"

namespace regrow {
namespace {

using direct::array;
using direct::call;
using direct::error_of;
using direct::infer_from;
using direct::numbers;
using direct::value_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

HostArray counting(const Shape& shape) {
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  std::iota(values.begin(), values.end(), 0);
  return array<std::int32_t>(shape, values);
}

Op slice_op(Dims start, Dims stop, Dims step, Dims squeeze = {}) {
  return op("slice", {{"start", start}, {"stop", stop}, {"step", step}, {"squeeze", squeeze}});
}

TEST(Reshape, OfARowMajorTensorIsAView) {
  const OutDesc out = infer_from(op("reshape", {{"shape", Dims{2, -1}}}), {Desc::dense(DType::f32, {3, 4})}).at(0);
  EXPECT_EQ(out.view_of, 0);
  EXPECT_EQ(out.shape, (Shape{2, 6}));
  EXPECT_EQ(out.strides, (Strides{6, 1}));
}

TEST(Reshape, OfATransposedTensorCopiesInLogicalOrder) {
  const HostArray x = counting({2, 3});
  const direct::Value transposed = value_of(x, Strides{1, 2});
  const Op flat = op("reshape", {{"shape", Dims{6}}});
  const direct::Value out = direct::run(flat, {transposed}).at(0);
  EXPECT_NE(out.storage, transposed.storage);
  EXPECT_THAT(numbers(direct::host(out)), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Reshape, ThatDoesNotFitNamesTheCount) {
  const auto reshape = [](Shape from, Dims to) {
    return error_of([&] { infer_from(op("reshape", {{"shape", to}}), {Desc::dense(DType::f32, from)}); });
  };
  EXPECT_THAT(reshape({3, 4}, {7}), HasSubstr("reshape: 12 elements do not fill (7,)"));
  EXPECT_THAT(reshape({3, 4}, {5, -1}), HasSubstr("12 elements do not fill (5, -1)"));
  EXPECT_THAT(reshape({3, 4}, {-1, -1}), HasSubstr("only one size may be -1"));
  EXPECT_THAT(reshape({3, 4}, {-2, -6}), HasSubstr("negative"));
  EXPECT_THAT(reshape({0, 3}, {0, -1}), HasSubstr("0 elements do not fill (0, -1)"));
  EXPECT_THAT(reshape({1}, {1 << 30, 1 << 30, 1 << 30}), HasSubstr("1 elements do not fill"));
  EXPECT_THAT(reshape({0}, {1 << 30, 1 << 30, 1 << 30, 0}), "");  // empty, whatever the other sizes
}

TEST(BroadcastTo, RepeatsWithoutCopying) {
  const direct::Value x = value_of(counting({3, 1}));
  const direct::Value out = direct::run(op("broadcast_to", {{"shape", Dims{2, 3, 2}}}), {x}).at(0);
  EXPECT_EQ(out.storage, x.storage);
  EXPECT_EQ(out.desc.strides, (Strides{0, 1, 0}));
  EXPECT_THAT(numbers(direct::host(out)), ElementsAre(0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2));
}

TEST(BroadcastTo, RefusesWhatDoesNotBroadcast) {
  const auto broadcast = [](Shape from, Dims to) {
    return error_of([&] { infer_from(op("broadcast_to", {{"shape", to}}), {Desc::dense(DType::f32, from)}); });
  };
  EXPECT_THAT(broadcast({2, 3}, {4}), HasSubstr("broadcast_to: (2, 3) does not broadcast to (4,)"));
  EXPECT_THAT(broadcast({2, 3}, {2, 1}), HasSubstr("does not broadcast"));
  EXPECT_THAT(broadcast({1}, {-1}), HasSubstr("negative"));
  EXPECT_THAT(broadcast({1}, {1L << 40, 1L << 40}), HasSubstr("too many elements"));
}

TEST(PermuteDims, MovesAxesWithoutCopying) {
  const direct::Value x = value_of(counting({2, 3, 4}));
  const direct::Value out = direct::run(op("permute_dims", {{"axes", Dims{2, 0, -2}}}), {x}).at(0);
  EXPECT_EQ(out.storage, x.storage);
  EXPECT_EQ(out.desc.shape, (Shape{4, 2, 3}));
  EXPECT_EQ(out.desc.strides, (Strides{1, 12, 4}));
  const auto permute = [](Dims axes) {
    return error_of([&] { infer_from(op("permute_dims", {{"axes", axes}}), {Desc::dense(DType::f32, {2, 3})}); });
  };
  EXPECT_THAT(permute({0, 0}), HasSubstr("named twice"));
  EXPECT_THAT(permute({0, -2}), HasSubstr("named twice"));
  EXPECT_THAT(permute({0}), HasSubstr("2 axes once"));
  EXPECT_THAT(permute({0, 2}), HasSubstr("out of range"));
}

// np.arange(20).reshape(5, 4)[1:5:2, ::-1] and [::-2, 2]
TEST(Slice, TakesStepsOfEitherSignAndDropsAxes) {
  const HostArray x = counting({5, 4});
  EXPECT_THAT(numbers(call(slice_op({1, 3}, {5, -1}, {2, -1}), {x})), ElementsAre(7, 6, 5, 4, 15, 14, 13, 12));
  const HostArray column = call(slice_op({4, 2}, {-1, 3}, {-2, 1}, {1}), {x});
  EXPECT_EQ(column.shape(), (Shape{3}));
  EXPECT_THAT(numbers(column), ElementsAre(18, 10, 2));
}

// ones(10, 10)[0:-1, 0]: a stop before the end, resolved to 9, leaves nine elements.
TEST(Slice, UpToTheLastElementKeepsTheOthers) {
  EXPECT_EQ(call(slice_op({0, 0}, {9, 1}, {1, 1}, {1}), {counting({10, 10})}).shape(), (Shape{9}));
}

TEST(Slice, OfNothingStaysInsideTheStorage) {
  const OutDesc out = infer_from(slice_op({3, 0}, {3, 4}, {1, 1}), {Desc::dense(DType::f32, {3, 4})}).at(0);
  EXPECT_EQ(out.shape, (Shape{0, 4}));
  EXPECT_EQ(out.view_offset, 0);
}

// The last element of two rows of 2^31 bytes.
TEST(Slice, CountsOffsetsInSixtyFourBits) {
  const std::int64_t length = std::int64_t{1} << 31;
  const OutDesc last =
      infer_from(slice_op({1, length - 1}, {2, length}, {1, 1}, {0, 1}), {Desc::dense(DType::i8, {2, length})}).at(0);
  EXPECT_EQ(last.view_offset, 2 * length - 1);
  EXPECT_EQ(last.shape, (Shape{}));
}

TEST(Slice, OutOfRangeIsRefused) {
  const auto slice = [](Dims start, Dims stop, Dims step) {
    return error_of([&] { infer_from(slice_op(start, stop, step), {Desc::dense(DType::f32, {3})}); });
  };
  EXPECT_THAT(slice({3}, {4}, {1}), HasSubstr("slice: index 3 is out of range for axis 0 of size 3"));
  EXPECT_THAT(slice({0}, {5}, {1}), HasSubstr("index 4 is out of range for axis 0 of size 3"));
  EXPECT_THAT(slice({2}, {-3}, {-1}), HasSubstr("index -2 is out of range"));
  EXPECT_THAT(slice({0}, {3}, {0}), HasSubstr("step of axis 0 is 0"));
  EXPECT_THAT(slice({0, 0}, {3, 3}, {1, 1}), HasSubstr("one value for each axis"));
  EXPECT_THAT(error_of([] { infer_from(slice_op({0}, {2}, {1}, {0}), {Desc::dense(DType::f32, {3})}); }),
              HasSubstr("cannot be dropped"));
}

// zeros(3, 4, 4, 4)[0, 0:4, 3, 0:4] = ones(4, 4): integers drop their axes from the target.
TEST(SetSlice, BroadcastsTheValueToTheRegion) {
  const HostArray zeros = array<float>({3, 4, 4, 4}, std::vector<double>(192, 0));
  const Op set =
      op("set_slice",
         {{"start", Dims{0, 0, 3, 0}}, {"stop", Dims{1, 4, 4, 4}}, {"step", Dims{1, 1, 1, 1}}, {"squeeze", Dims{0, 2}}});
  const std::vector<double> out = numbers(call(set, {zeros, array<float>({4, 4}, std::vector<double>(16, 1))}));
  EXPECT_EQ(std::count(out.begin(), out.end(), 1), 16);
  EXPECT_EQ(std::count(out.begin(), out.end(), 0), 176);
  EXPECT_EQ(out[12], 1);  // [0, 0, 3, 0]
  EXPECT_EQ(out[63], 1);  // [0, 3, 3, 3]
  EXPECT_EQ(out[64], 0);  // [1, 0, 0, 0]
  EXPECT_THAT(error_of([&] {
                call(set, {zeros, array<float>({3}, {1, 2, 3})});
              }),
              HasSubstr("(3,) does not broadcast to (4, 4)"));
  EXPECT_THAT(error_of([&] { call(set, {zeros, array<double>({}, {1})}); }), HasSubstr("the value is f64, not f32"));
}

TEST(SetSlice, InPlaceGivesTheSame) {
  const Op set = op("set_slice", {{"start", Dims{3}}, {"stop", Dims{-1}}, {"step", Dims{-2}}});
  const HostArray x = counting({4}), value = array<std::int32_t>({2}, {10, 20});
  EXPECT_THAT(numbers(call(set, {x, value})), ElementsAre(0, 20, 2, 10));
  const direct::Value reused = direct::run(set, {value_of(x), value_of(value)}, {.in_place = 0}).at(0);
  EXPECT_THAT(numbers(direct::host(reused)), ElementsAre(0, 20, 2, 10));
}

TEST(SetSlice, OfARepeatedTensorHasMemoryOfItsOwn) {
  const direct::Value zeros = direct::run(op("broadcast_to", {{"shape", Dims{2, 2}}}), {value_of(array<float>({}, {0}))}).at(0);
  const Op set = op("set_slice", {{"start", Dims{1, 0}}, {"stop", Dims{2, 2}}, {"step", Dims{1, 1}}});
  EXPECT_THAT(numbers(direct::host(direct::run(set, {zeros, value_of(array<float>({2}, {5, 6}))}).at(0))),
              ElementsAre(0, 0, 5, 6));
}

TEST(ShapeOf, NeedsNoValues) {
  const Desc in = Desc::dense(DType::bf16, {0, 4, 1});
  const direct::Value out = direct::allocate(infer_from(op("shape_of"), {in}).at(0));
  const View without_data{&in, nullptr}, to = out.view();
  compute(op("shape_of"), {&without_data, 1}, {&to, 1}, {}, {});
  EXPECT_EQ(direct::host(out).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 4, 1}));
  EXPECT_EQ(call(op("shape_of"), {array<float>({}, {1})}).shape(), (Shape{0}));
}

}  // namespace
}  // namespace regrow
