// SPDX-License-Identifier: Apache-2.0
// Reductions. Expected values: NumPy 1.24, or by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "regrow/kernels/parallel.h"
#include "tests/ops/draw.h"

namespace regrow {
namespace {

using direct::array;
using direct::call;
using direct::error_of;
using direct::numbers;
using direct::same_bits;
using direct::Value;
using direct::value_of;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

Op reduction(std::string_view name, Axes axis = {}, bool keepdims = false) {
  return op(name, {{"axis", axis}, {"keepdims", keepdims}});
}

template <class T>
HostArray filled(const Shape& shape, double value) {
  return array<T>(shape, std::vector<double>(static_cast<std::size_t>(element_count(shape)), value));
}

// (np.arange(24) % 7 - 3).reshape(2, 3, 4)
HostArray sample() {
  std::vector<double> values;
  for (int i = 0; i < 24; ++i) values.push_back(i % 7 - 3);
  return array<float>({2, 3, 4}, values);
}

TEST(Reductions, AgreeWithNumPy) {
  const HostArray x = sample();
  EXPECT_THAT(numbers(call(reduction("sum", 1), {x})), ElementsAre(-4, -1, 2, -2, 4, 0, -4, -1));
  EXPECT_THAT(numbers(call(reduction("sum", {0, 2}), {x})), ElementsAre(-6, 5, -5));
  EXPECT_THAT(numbers(call(reduction("prod", {1, 2}), {x})), ElementsAre(0, 0));
  EXPECT_THAT(numbers(call(reduction("max", {1, 2}), {x})), ElementsAre(3, 3));
  EXPECT_THAT(numbers(call(reduction("max", 0), {x})), ElementsAre(2, 3, -1, 0, 1, 2, 3, 2, 3, -1, 0, 1));
  EXPECT_THAT(numbers(call(reduction("min", -1), {x})), ElementsAre(-3, -3, -2, -3, -1, -3));
  EXPECT_THAT(numbers(call(reduction("argmax", -1), {x})), ElementsAre(3, 2, 3, 1, 3, 0));
  EXPECT_THAT(numbers(call(reduction("argmin", 1), {x})), ElementsAre(0, 0, 0, 1, 1, 2, 0, 0));
  EXPECT_THAT(numbers(call(reduction("argmax"), {x})), ElementsAre(6));
  EXPECT_THAT(numbers(call(reduction("all", -1), {x})), ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_THAT(numbers(call(reduction("any", {0, 1, 2}), {x})), ElementsAre(1));
  EXPECT_THAT(numbers(call(reduction("mean", 2), {x})), ElementsAre(-1.5, 0.75, -0.5, 0, 0.5, -0.75));
}

TEST(Reductions, KeepTheAxesWhereAsked) {
  EXPECT_EQ(call(reduction("sum", {0, 2}, true), {sample()}).shape(), (Shape{1, 3, 1}));
  EXPECT_EQ(call(reduction("sum", {0, 2}, false), {sample()}).shape(), (Shape{3}));
  EXPECT_EQ(call(reduction("argmax", 1, true), {sample()}).shape(), (Shape{2, 1, 4}));
  EXPECT_EQ(call(reduction("sum"), {sample()}).shape(), (Shape{}));
}

TEST(Reductions, RefuseAxesThatAreNotThere) {
  EXPECT_THAT(error_of([] { call(reduction("sum", 3), {sample()}); }), HasSubstr("sum: axis 3 is out of range for 3 axes"));
  EXPECT_THAT(error_of([] { call(reduction("sum", -4), {sample()}); }), HasSubstr("axis -4 is out of range"));
  EXPECT_THAT(error_of([] { call(reduction("sum", {0, -3}), {sample()}); }), HasSubstr("named twice"));
}

TEST(Sum, WidensIntegers) {
  const HostArray bytes = call(reduction("sum"), {filled<std::uint8_t>({300}, 255)});
  EXPECT_EQ(bytes.item<std::uint64_t>(), 76500u);
  EXPECT_EQ(call(reduction("sum"), {filled<std::int8_t>({300}, -128)}).item<std::int64_t>(), -38400);
  EXPECT_EQ(call(reduction("sum"), {filled<bool>({5, 60}, 1)}).item<std::int64_t>(), 300);
  EXPECT_EQ(call(reduction("sum", 0), {filled<std::int16_t>({40, 40}, -30000)}).to_vector<std::int64_t>().at(39), -1200000);
  EXPECT_EQ(call(op("sum", {{"dtype", DType::f64}}), {filled<std::int32_t>({3}, 7)}).item<double>(), 21.0);
  EXPECT_THAT(error_of([] {
                call(op("sum", {{"dtype", DType::i64}}), {sample()});
              }),
              HasSubstr("sum: f32 cannot be accumulated in i64"));
}

TEST(Sum, OfIntegersWraps) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(call(reduction("sum"), {HostArray::from(std::vector<std::int64_t>{most, 1}, {2})}).item<std::int64_t>(), -most - 1);
}

// A no-op broadcast gives an empty list of axes: that is not "all axes".
TEST(Sum, OverNoAxesIsTheInput) {
  const Value x = value_of(sample());
  const Value out = direct::run(reduction("sum", Axes::none()), {x}).at(0);
  EXPECT_EQ(out.storage, x.storage);
  EXPECT_EQ(out.desc, x.desc);
}

// As IEEE 754 adds: the sum of a single element is that element.
TEST(Sum, KeepsTheSignOfZero) {
  EXPECT_TRUE(std::signbit(call(reduction("sum"), {filled<float>({33}, -0.0)}).item<float>()));
  EXPECT_FALSE(std::signbit(call(reduction("sum"), {array<float>({2}, {-0.0, 0.0})}).item<float>()));
  EXPECT_FALSE(std::signbit(call(reduction("sum"), {filled<float>({0}, 0)}).item<float>()));
}

TEST(Sum, AccumulatesWide) {
  EXPECT_EQ(numbers(call(reduction("sum"), {filled<Half>({100000}, 0.5)}))[0],
            49984);  // f16 of 50,000; a running f16 sum stops at 1,024
  EXPECT_EQ(numbers(call(reduction("sum"), {filled<BFloat16>({4096}, 1)}))[0], 4096);  // a running bf16 sum stops at 256
  std::vector<double> small(1 << 20, 0x1p-24);
  small[0] = 1;  // each of the others is lost in an f32 sum
  EXPECT_EQ(numbers(call(reduction("sum"), {array<float>({1 << 20}, small)}))[0], std::ldexp(1 << 20, -24) + 1);
}

// Between 1, huge and -huge only an order of additions decides; it is the same for rows, columns and every stride.
TEST(Sum, IsAFunctionOfTheLogicalOrder) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16})
    for (const Shape& shape : {Shape{7, 2500}, Shape{2500, 19}, Shape{3, 17, 5, 90}}) {
      const HostArray x = direct::draw(dtype, shape, -1000, 1000, 5);
      for (int axis = 0; axis < shape.rank(); ++axis)
        for (const Axes& axes : {Axes(axis), axis == 0 ? Axes{} : Axes{0, axis}}) {
          const HostArray expected = call(reduction("sum", axes), {x});
          for (const direct::Lay& lay : direct::layouts(shape))
            EXPECT_TRUE(same_bits(expected, direct::host(direct::run(reduction("sum", axes), {value_of(x, lay.strides)}).at(0))))
                << lay.name << " axes " << to_string(axes) << " of " << to_string(shape);
        }
    }
}

// Long and few, long and many, short and many; sums and extremes; rows and columns.
TEST(Reductions, GiveTheSameBitsOnAnyNumberOfThreads) {
  const int before = kernels::kernel_threads();
  for (const Shape& shape :
       {Shape{700001}, Shape{3, 200003}, Shape{200003, 3}, Shape{70001, 21}, Shape{40000, 11}, Shape{1031, 577}}) {
    const HostArray x = direct::draw(DType::f32, shape, -1000, 1000, 3);
    for (const char* name : {"sum", "mean", "max", "argmin"})
      for (int axis = 0; axis < shape.rank(); ++axis) {
        kernels::set_kernel_threads(1);
        const HostArray expected = call(reduction(name, axis), {x}), all = call(reduction(name), {x});
        for (int threads = 2; threads <= 4; ++threads) {
          kernels::set_kernel_threads(threads);
          EXPECT_TRUE(same_bits(expected, call(reduction(name, axis), {x}))) << name << to_string(shape) << " " << threads;
          EXPECT_TRUE(same_bits(all, call(reduction(name), {x}))) << name << to_string(shape) << " " << threads;
        }
      }
  }
  kernels::set_kernel_threads(before);
}

// A row that is alone, or one of many, or a column, has the same sum.
TEST(Sum, OfARowDoesNotDependOnItsNeighbours) {
  const HostArray x = direct::draw(DType::f32, {50, 3001}, -1000, 1000, 9);
  const std::vector<float> together = call(reduction("sum", 1), {x}).to_vector<float>();
  const std::vector<float> all = x.to_vector<float>();
  for (std::size_t row = 0; row < 50; ++row) {
    const HostArray alone = HostArray::from(std::span<const float>(all).subspan(row * 3001, 3001), {3001});
    EXPECT_EQ(call(reduction("sum"), {alone}).item<float>(), together[row]);
  }
}

TEST(Mean, OfOnesIsOne) {
  EXPECT_EQ(call(reduction("mean"), {filled<float>({1, 3, 321, 481}, 1)}).item<float>(), 1.0f);
  const HostArray rows = call(reduction("mean", {2, 3}), {filled<float>({1, 3, 321, 481}, 1)});
  EXPECT_THAT(numbers(rows), Each(1.0));
  EXPECT_EQ(call(reduction("mean"), {rows}).item<float>(), 1.0f);
}

// 70,000 elements of 1,000: neither the sum nor the count fits in f16.
TEST(Mean, OfHalvesNeitherOverflowsNorRoundsTheCount) {
  EXPECT_EQ(numbers(call(reduction("mean"), {filled<Half>({70000}, 1000)}))[0], 1000);
  EXPECT_EQ(numbers(call(reduction("mean", 0), {filled<BFloat16>({10000, 3}, 10)})), (std::vector<double>{10, 10, 10}));
}

TEST(Mean, OfIntegersIsF32) {
  const HostArray mean = call(reduction("mean"), {array<std::int64_t>({4}, {1, 2, 3, 4})});
  EXPECT_EQ(mean.item<float>(), 2.5f);
  EXPECT_EQ(call(reduction("mean"), {array<bool>({4}, {1, 0, 0, 0})}).item<float>(), 0.25f);
}

TEST(Mean, OfNothingIsNaN) {
  for (const HostArray& mean :
       {call(reduction("mean", 0), {filled<float>({0, 5}, 0)}), call(reduction("mean", 0), {filled<Half>({0, 5}, 0)}),
        call(reduction("mean", 0), {filled<double>({0, 5}, 0)}), call(reduction("mean", 0), {filled<std::int32_t>({0, 5}, 0)})}) {
    EXPECT_EQ(mean.shape(), (Shape{5}));
    EXPECT_THAT(numbers(mean), Each(::testing::IsNan()));
  }
  EXPECT_EQ(call(reduction("mean", 1), {filled<float>({2, 0, 4}, 0)}).shape(), (Shape{2, 4}));
  EXPECT_EQ(call(reduction("mean", 2), {filled<float>({2, 0, 4}, 0)}).shape(), (Shape{2, 0}));
}

TEST(Extremes, OfNothingAreErrors) {
  for (const char* name : {"max", "min", "argmax", "argmin"}) {
    EXPECT_THAT(error_of([&] { call(reduction(name), {filled<float>({0}, 0)}); }), HasSubstr("nothing to reduce in (0,)"));
    EXPECT_THAT(error_of([&] {
                  call(reduction(name, 0), {filled<float>({0, 5}, 0)});
                }),
                HasSubstr("nothing to reduce in (0, 5) over"));
    EXPECT_EQ(call(reduction(name, 1), {filled<float>({0, 5}, 0)}).shape(), (Shape{0}));
  }
}

TEST(Extremes, PropagateNaN) {
  const HostArray x = array<float>({4}, {3, nan_value, 1, 5});
  EXPECT_TRUE(std::isnan(call(reduction("max"), {x}).item<float>()));
  EXPECT_TRUE(std::isnan(call(reduction("min"), {x}).item<float>()));
  EXPECT_EQ(call(reduction("argmax"), {x}).item<std::int64_t>(), 1);
  EXPECT_EQ(call(reduction("argmin"), {x}).item<std::int64_t>(), 1);
}

// In each place of rows and columns, among the lanes, in the tail, with either sign; the result is one NaN.
TEST(Extremes, FindTheFirstNaNWhereverItIs) {
  for (const double planted : {nan_value, -nan_value})
    for (const std::int64_t at : {0, 1, 15, 16, 17, 1023, 1024, 1025, 2047, 2600}) {
      std::vector<double> values(2601);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 100);
      values[static_cast<std::size_t>(at)] = planted;
      values[2600] = nan_value;
      std::vector<double> across(2601 * 9);
      for (std::size_t i = 0; i < across.size(); ++i) across[i] = values[i / 9];
      for (const char* name : {"max", "min"}) {
        const float row = call(reduction(name), {array<float>({2601}, values)}).item<float>();
        EXPECT_EQ(std::bit_cast<std::uint32_t>(row), 0x7fc00000u);
        const HostArray columns = call(reduction(name, 0), {array<float>({2601, 9}, across)});
        for (float value : columns.to_vector<float>()) EXPECT_EQ(std::bit_cast<std::uint32_t>(value), 0x7fc00000u);
      }
      for (const char* name : {"argmax", "argmin"}) {
        EXPECT_EQ(call(reduction(name), {array<Half>({2601}, values)}).item<std::int64_t>(), at);
        EXPECT_THAT(call(reduction(name, 0), {array<double>({2601, 9}, across)}).to_vector<std::int64_t>(), Each(at));
      }
    }
}

TEST(Extremes, OfInfinitiesAndOneKindOfNumber) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(call(reduction("max"), {filled<float>({40}, -infinity)}).item<float>(), -infinity);
  EXPECT_EQ(call(reduction("argmax"), {filled<float>({40}, -infinity)}).item<std::int64_t>(), 0);
  EXPECT_EQ(call(reduction("min"), {filled<std::uint64_t>({40}, 7)}).item<std::uint64_t>(), 7u);
  EXPECT_EQ(call(reduction("max"), {array<std::int8_t>({2}, {-128, -127})}).item<std::int8_t>(), -127);
  EXPECT_EQ(call(reduction("max"), {array<bool>({2}, {0, 1})}).item<bool>(), true);
}

TEST(Extremes, OfAFlippedVector) {
  const Value flipped = value_of(array<float>({2}, {10, 8}), Strides{-1});
  const HostArray least = direct::host(direct::run(reduction("min", {}, true), {flipped}).at(0));
  EXPECT_EQ(least.shape(), (Shape{1}));
  EXPECT_EQ(least.item<float>(), 8.0f);
}

TEST(ArgMax, TakesTheFirstOfEquals) {
  EXPECT_EQ(call(reduction("argmax"), {array<std::int32_t>({5}, {1, 7, 7, 0, 7})}).item<std::int64_t>(), 1);
  EXPECT_EQ(call(reduction("argmin"), {array<float>({3}, {0.0, -0.0, 1})}).item<std::int64_t>(), 0);
  std::vector<double> values(3000, 1);
  EXPECT_EQ(call(reduction("argmax"), {array<float>({3000}, values)}).item<std::int64_t>(), 0);
  values[1024] = 2, values[2048] = 2;
  EXPECT_EQ(call(reduction("argmax"), {array<float>({3000}, values)}).item<std::int64_t>(), 1024);
}

TEST(ArgMax, OverANegativeAxis) {
  const HostArray x = direct::draw(DType::f32, {32, 5}, -1, 1, 4);
  EXPECT_TRUE(same_bits(call(reduction("argmax", -1), {x}), call(reduction("argmax", 1), {x})));
}

TEST(ArgMin, OfManyRowsOfOne) { EXPECT_THAT(numbers(call(reduction("argmin", 1), {filled<float>({32768, 1}, 0)})), Each(0.0)); }

// 64 rows of 2^25 + 1 bytes, all the same memory: more than 2^31 elements.
TEST(ArgMax, CountsBeyondThirtyTwoBits) {
  const std::int64_t length = (std::int64_t{1} << 25) + 1;
  Value row = direct::allocate(Desc::dense(DType::i8, {1, length}), std::byte{0});
  row.first[length - 1] = std::byte{1};
  const Value rows = direct::run(op("broadcast_to", {{"shape", Dims{64, length}}}), {row}).at(0);
  EXPECT_THAT(numbers(direct::host(direct::run(reduction("argmax", 1), {rows}).at(0))), Each(length - 1));
  EXPECT_THAT(numbers(direct::host(direct::run(reduction("argmax"), {rows}).at(0))), Each(length - 1));
}

TEST(AnyAndAll, CountNaNAsTrueAndZerosAsFalse) {
  EXPECT_TRUE(call(reduction("any"), {array<Half>({3}, {0, -0.0, nan_value})}).item<bool>());
  EXPECT_FALSE(call(reduction("any"), {array<BFloat16>({2}, {0, -0.0})}).item<bool>());
  EXPECT_TRUE(call(reduction("all"), {array<float>({3}, {1, nan_value, 1e-45})}).item<bool>());
  EXPECT_FALSE(call(reduction("any"), {filled<float>({0}, 0)}).item<bool>());
  EXPECT_TRUE(call(reduction("all"), {filled<float>({0}, 0)}).item<bool>());
}

TEST(Reductions, OfAChannelsLastTensorStayChannelsLast) {
  Desc x = Desc::dense(DType::f32, {2, 8, 3, 5});
  x.strides = channels_last_strides(x.shape);
  const OutDesc kept = direct::infer_from(reduction("mean", {2}, true), {x}).at(0);
  EXPECT_EQ(kept.shape, (Shape{2, 8, 1, 5}));
  EXPECT_TRUE(is_channels_last(kept.shape, kept.strides));
  EXPECT_EQ(direct::infer_from(reduction("sum", {0, 2, 3}), {x}).at(0).strides, (Strides{1}));
}

}  // namespace
}  // namespace regrow
