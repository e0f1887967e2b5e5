// SPDX-License-Identifier: Apache-2.0
// Operators that find elements by an index tensor or a mask. Expected values: NumPy 1.24, or by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/ops/eager.h"

namespace regrow {
namespace {

using direct::array;
using direct::call;
using direct::call_all;
using direct::error_of;
using direct::numbers;
using direct::value_of;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

HostArray counting(const Shape& shape) {
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  std::iota(values.begin(), values.end(), 0);
  return array<float>(shape, values);
}

HostArray indices(const Shape& shape, const std::vector<double>& values) { return array<std::int64_t>(shape, values); }

Op along(std::string_view name, std::int64_t axis) { return op(name, {{"axis", axis}}); }

TEST(Take, PutsTheShapeOfTheIndicesInThePlaceOfTheAxis) {
  const HostArray x = counting({2, 3, 2});
  const HostArray out = call(along("take", 1), {x, indices({2, 2}, {0, -1, 2, 1})});
  EXPECT_EQ(out.shape(), (Shape{2, 2, 2, 2}));
  EXPECT_THAT(numbers(out),
              ElementsAre(0, 1, 4, 5, 4, 5, 2, 3, 6, 7, 10, 11, 10, 11, 8, 9));  // np.take(x, [[0, -1], [2, 1]], axis=1)
  EXPECT_EQ(call(along("take", 0), {x, indices({}, {1})}).shape(), (Shape{3, 2}));
  EXPECT_EQ(call(along("take", -1), {x, indices({0}, {})}).shape(), (Shape{2, 3, 0}));
}

TEST(Take, OutOfRangeIsAnErrorOfTheRun) {
  const HostArray x = counting({3});
  EXPECT_EQ(error_of([&] {
              call(along("take", 0), {x, indices({2}, {0, 99})});
            }),
            "take: index 99 is out of range for axis 0 of size 3");
  EXPECT_EQ(error_of([&] {
              call(along("take", 0), {x, indices({1}, {-4})});
            }),
            "take: index -4 is out of range for axis 0 of size 3");
  EXPECT_EQ(error_of([&] {
              call(along("take", 0), {x, array<std::uint8_t>({1}, {3})});
            }),
            "take: index 3 is out of range for axis 0 of size 3");
  EXPECT_THAT(error_of([&] { call(along("take", 1), {counting({3, 0}), indices({1}, {0})}); }), HasSubstr("axis 1 of size 0"));
  EXPECT_THAT(error_of([&] {
                call(along("take", 0), {x, array<float>({1}, {0})});
              }),
              HasSubstr("indices are of integers, not f32"));
  EXPECT_THAT(error_of([&] {
                call(along("take", 0), {x, array<bool>({1}, {0})});
              }),
              HasSubstr("indices are of integers, not bool"));
  EXPECT_THAT(error_of([&] { call(along("take", 1), {x, indices({1}, {0})}); }), HasSubstr("axis 1 is out of range for 1 axes"));
}

TEST(Take, OfEveryIndexTypeIsTheSame) {
  const HostArray x = counting({3, 2});
  const std::vector<double> expected = {4, 5, 0, 1};
  EXPECT_EQ(numbers(call(along("take", 0), {x, array<std::int8_t>({2}, {-1, -3})})), expected);
  EXPECT_EQ(numbers(call(along("take", 0), {x, array<std::uint64_t>({2}, {2, 0})})), expected);
  EXPECT_EQ(numbers(call(along("take", 0), {x, array<std::int32_t>({2}, {2, 0})})), expected);
}

// 32-bit indices, although the element lies beyond 2^31: x repeats one row of memory.
TEST(Take, CountsOffsetsInSixtyFourBits) {
  const std::int64_t length = 50000;
  direct::Value row = direct::allocate(Desc::dense(DType::u8, {1, length}), std::byte{0});
  row.first[length - 1] = std::byte{9};
  row.desc.shape[0] = 50000;
  row.desc.strides[0] = 0;
  const direct::Value picked = direct::run(along("take", 0), {row, value_of(array<std::int32_t>({1}, {49999}))}).at(0);
  EXPECT_EQ(numbers(direct::host(picked)).back(), 9);
}

// x = [0.1], taken twice: both gradients come back to it.
TEST(Take, GradientOfARepeatedIndexAddsUp) {
  direct::EagerRecorder recorder;
  const Var x = recorder.put(array<float>({1}, {0.1})), twice = recorder.put(indices({2}, {0, 0}));
  const Var out = recorder.apply(along("take", 0), {x, twice});
  const Var seed = recorder.put(array<float>({2}, {0.2, 0.3}));
  const Var grad = recorder.gradients({&out, 1}, {&seed, 1}, {&x, 1}).at(0);
  EXPECT_EQ(direct::host(recorder.value(grad)).item<float>(), 0.2f + 0.3f);
}

TEST(ScatterAdd, AddsInTheOrderOfTheIndices) {
  const HostArray x = array<float>({2, 2}, {1, 2, 3, 4});
  const HostArray out =
      call(along("scatter_add", 0), {x, indices({3}, {1, -1, 0}), array<float>({3, 2}, {10, 20, 100, 200, 5, 6})});
  EXPECT_THAT(numbers(out), ElementsAre(6, 8, 113, 224));
  // 2^24 + 1 + 1 stays at 2^24 in f32; the other order would give 2^24 + 2.
  const HostArray rounded =
      call(along("scatter_add", 0), {array<float>({1}, {0x1p24}), indices({2}, {0, 0}), array<float>({2}, {1, 1})});
  EXPECT_EQ(rounded.to_vector<float>()[0], 0x1p24f);
}

// A sum of ones in bf16 would stop at 256.
TEST(ScatterAdd, OfSixteenBitTypesAddsInF32) {
  const HostArray ones = array<BFloat16>({1000}, std::vector<double>(1000, 1));
  const HostArray out =
      call(along("scatter_add", 0), {array<BFloat16>({1}, {0}), indices({1000}, std::vector<double>(1000, 0)), ones});
  EXPECT_EQ(numbers(out)[0], 1000);
}

TEST(ScatterAdd, OfIntegersWraps) {
  const HostArray out =
      call(along("scatter_add", 0), {array<std::int8_t>({1}, {127}), indices({1}, {0}), array<std::int8_t>({1}, {1})});
  EXPECT_EQ(numbers(out)[0], -128);
}

TEST(ScatterAdd, RefusesOtherShapesAndTypes) {
  const auto refused = [](const HostArray& x, const HostArray& index, const HostArray& updates) {
    return error_of([&] { call(along("scatter_add", 0), {x, index, updates}); });
  };
  EXPECT_THAT(refused(counting({3, 2}), indices({2}, {0, 1}), counting({2, 3})),
              HasSubstr("the updates have shape (2, 3), not (2, 2)"));
  EXPECT_THAT(refused(counting({3}), indices({1}, {0}), array<double>({1}, {0})), HasSubstr("the updates are f64, not f32"));
  EXPECT_THAT(refused(array<bool>({1}, {0}), indices({1}, {0}), array<bool>({1}, {0})), HasSubstr("bool cannot be added"));
  EXPECT_EQ(refused(counting({3}), indices({1}, {7}), counting({1})),
            "scatter_add: index 7 is out of range for axis 0 of size 3");
}

TEST(TakeAlongAxis, AgreesWithNumPy) {
  const HostArray x = counting({2, 3});
  // np.take_along_axis(x, np.array([[2, 0], [-1, 1]]), 1)
  EXPECT_THAT(numbers(call(along("take_along_axis", 1), {x, indices({2, 2}, {2, 0, -1, 1})})), ElementsAre(2, 0, 5, 4));
  EXPECT_THAT(numbers(call(along("take_along_axis", 0), {x, indices({1, 3}, {1, 0, 1})})), ElementsAre(3, 1, 5));
  EXPECT_THAT(error_of([&] {
                call(along("take_along_axis", 1), {x, indices({3, 2}, {0, 0, 0, 0, 0, 0})});
              }),
              HasSubstr("indices of shape (3, 2) do not match (2, 3) beside axis 1"));
  EXPECT_EQ(error_of([&] {
              call(along("take_along_axis", 1), {x, indices({2, 1}, {0, 3})});
            }),
            "take_along_axis: index 3 is out of range for axis 1 of size 3");
}

TEST(MaskedSelect, FlattensWhatTheMaskNames) {
  const HostArray x = counting({2, 3});
  EXPECT_THAT(numbers(call(op("masked_select"), {x, array<bool>({2, 3}, {1, 0, 1, 0, 0, 1})})), ElementsAre(0, 2, 5));
  const HostArray rows = call(op("masked_select"), {x, array<bool>({2}, {0, 1})});
  EXPECT_EQ(rows.shape(), (Shape{1, 3}));
  EXPECT_THAT(numbers(rows), ElementsAre(3, 4, 5));
  EXPECT_EQ(call(op("masked_select"), {x, array<bool>({2, 3}, {0, 0, 0, 0, 0, 0})}).shape(), (Shape{0}));
  EXPECT_EQ(call(op("masked_select"), {x, array<bool>({}, {1})}).shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(call(op("masked_select"), {counting({0}), array<bool>({0}, {})}).shape(), (Shape{0}));
}

TEST(MaskedSelect, RefusesOtherMasks) {
  const auto refused = [](const HostArray& mask) {
    return error_of([&] { call(op("masked_select"), {counting({2, 3}), mask}); });
  };
  EXPECT_THAT(refused(array<bool>({3}, {1, 1, 1})), HasSubstr("a mask of shape (3,) does not match the leading axes of (2, 3)"));
  EXPECT_THAT(refused(array<bool>({2, 3, 1}, {1, 1, 1, 1, 1, 1})), HasSubstr("does not match"));
  EXPECT_THAT(refused(array<std::uint8_t>({2, 3}, {1, 1, 1, 1, 1, 1})), HasSubstr("a mask is of bool, not u8"));
}

TEST(MaskedScatter, PutsValuesBackInOrder) {
  const HostArray x = counting({2, 2}), mask = array<bool>({2, 2}, {0, 1, 1, 0});
  EXPECT_THAT(numbers(call(op("masked_scatter"), {x, mask, array<float>({2}, {7, 8})})), ElementsAre(0, 7, 8, 3));
  EXPECT_EQ(error_of([&] {
              call(op("masked_scatter"), {x, mask, array<float>({3}, {7, 8, 9})});
            }),
            "masked_scatter: the mask is true 2 times, but there are 3 values");
  EXPECT_THAT(error_of([&] {
                call(op("masked_scatter"), {x, mask, array<float>({2, 1}, {7, 8})});
              }),
              HasSubstr("are not a list of parts"));
}

TEST(Nonzero, GivesOneIndexTensorForEachAxis) {
  const HostArray inputs[] = {array<float>({2, 3}, {0, 5, -0.0, std::numeric_limits<double>::quiet_NaN(), 0, 1e-40})};
  const std::vector<HostArray> out = call_all(op("nonzero"), inputs);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_THAT(out[0].to_vector<std::int64_t>(), ElementsAre(0, 1, 1));
  EXPECT_THAT(out[1].to_vector<std::int64_t>(), ElementsAre(1, 0, 2));
}

TEST(Nonzero, OfNothingAndOfAScalar) {
  const HostArray nothing[] = {counting({2, 0, 3})};
  for (const HostArray& axis : call_all(op("nonzero"), nothing)) EXPECT_THAT(axis.to_vector<std::int64_t>(), IsEmpty());
  EXPECT_THAT(error_of([] { call(op("nonzero"), {counting({})}); }), HasSubstr("nonzero: x has no axes to index"));
}

TEST(OneHot, MarksTheIndex) {
  const Op one_hot = op("one_hot", {{"classes", 3}, {"dtype", DType::i16}});
  const HostArray out = call(one_hot, {indices({2}, {2, -3})});
  EXPECT_EQ(out.dtype(), DType::i16);
  EXPECT_THAT(numbers(out), ElementsAre(0, 0, 1, 1, 0, 0));
  EXPECT_EQ(error_of([&] { call(one_hot, {indices({1}, {3})}); }), "one_hot: index 3 is out of range for axis 1 of size 3");
}

TEST(ShapesFromValues, AreChecked) {
  const HostArray x = counting({3, 4});
  EXPECT_EQ(call(op("reshape_to_value"), {x, indices({2}, {-1, 6})}).shape(), (Shape{2, 6}));
  EXPECT_EQ(error_of([&] {
              call(op("reshape_to_value"), {x, indices({1}, {7})});
            }),
            "reshape_to_value: 12 elements do not fill (7,)");
  EXPECT_THAT(error_of([&] {
                call(op("reshape_to_value"), {x, array<float>({1}, {12})});
              }),
              HasSubstr("a shape is of integers, not f32"));
  EXPECT_THAT(error_of([&] { call(op("reshape_to_value"), {x, indices({1, 1}, {12})}); }), HasSubstr("a shape is a vector"));
  EXPECT_THAT(error_of([&] {
                call(op("reshape_to_value"), {x, indices({9}, std::vector<double>(9, 1))});
              }),
              HasSubstr("at most 8 axes"));
  const HostArray repeated = call(op("broadcast_to_value"), {counting({2, 1}), array<std::uint16_t>({2}, {2, 3})});
  EXPECT_THAT(numbers(repeated), ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_EQ(error_of([&] {
              call(op("broadcast_to_value"), {x, indices({1}, {4})});
            }),
            "broadcast_to_value: (3, 4) does not broadcast to (4,)");
}

TEST(Concat, JoinsAlongTheAxis) {
  const HostArray a = counting({2, 2}), b = array<float>({2, 1}, {8, 9});
  EXPECT_THAT(numbers(call(along("concat", 1), {a, b})), ElementsAre(0, 1, 8, 2, 3, 9));
  EXPECT_THAT(numbers(call(along("concat", -2), {a, counting({0, 2}), a})), ElementsAre(0, 1, 2, 3, 0, 1, 2, 3));
  EXPECT_THAT(error_of([&] {
                call(along("concat", 0), {a, b});
              }),
              HasSubstr("concat: shapes (2, 2) and (2, 1) differ beside axis 0"));
  EXPECT_THAT(error_of([&] {
                call(along("concat", 0), {a, array<double>({1, 2}, {0, 0})});
              }),
              HasSubstr("the element types differ: f32 and f64"));
  EXPECT_THAT(error_of([&] {
                call(along("concat", 0), {counting({}), counting({})});
              }),
              HasSubstr("axis 0 is out of range for 0 axes"));
  EXPECT_THAT(error_of([&] { call_all(along("concat", 0), {}); }), HasSubstr("nothing to join"));
}

TEST(Copy, MovesBetweenLayouts) {
  const HostArray x = counting({2, 3, 4, 5});
  const direct::Value last = direct::run(op("copy", {{"channels_last", true}}), {value_of(x)}).at(0);
  EXPECT_TRUE(is_channels_last(last.desc.shape, last.desc.strides));
  EXPECT_TRUE(direct::same_bits(direct::host(last), x));
  const direct::Value back = direct::run(op("copy"), {last}).at(0);
  EXPECT_TRUE(back.desc.contiguous());
  EXPECT_TRUE(direct::same_bits(direct::host(back), x));
  EXPECT_THAT(error_of([] {
                call(op("copy", {{"channels_last", true}}), {counting({2, 3})});
              }),
              HasSubstr("channels-last needs 4 axes"));
}

TEST(CopyTo, GoesToTheDeviceAndKeepsTheAxisOrder) {
  const HostArray x = counting({3, 40});
  const direct::Value moved = direct::run(op("copy_to", {{"device", Device(1)}}), {value_of(x, Strides{1, 3})}).at(0);
  EXPECT_EQ(moved.desc.device, Device(1));
  EXPECT_EQ(moved.desc.strides, (Strides{1, 3}));
  EXPECT_TRUE(direct::same_bits(direct::host(moved), x));
  EXPECT_EQ(find_op("copy_to")->replay, Replay::never);
}

}  // namespace
}  // namespace regrow
