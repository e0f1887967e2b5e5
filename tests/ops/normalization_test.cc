// SPDX-License-Identifier: Apache-2.0
// Batch, layer, RMS and group norm: values by loops in f64 and by hand, huge and narrow values, layouts, running statistics,
// errors.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/ops/values.h"

namespace regrow {
namespace {

using testing::as_dtype;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::laid_out;
using testing::random_value;
using testing::run;
using testing::Value;
using testing::value;

constexpr double epsilon = 1e-5;

// Elements with an equal number in `set` share their statistics: in two passes, in long double.
std::vector<double> normalized(const std::vector<double>& x, const std::vector<std::int64_t>& set, double eps = epsilon,
                               bool centered = true) {
  std::vector<double> out(x.size());
  for (std::size_t first = 0; first < x.size(); ++first) {
    if (std::find(set.begin(), set.begin() + static_cast<std::ptrdiff_t>(first), set[first]) !=
        set.begin() + static_cast<std::ptrdiff_t>(first))
      continue;
    long double sum = 0, square = 0, count = 0;
    for (std::size_t i = first; i < x.size(); ++i)
      if (set[i] == set[first]) sum += x[i], count += 1;
    const long double mean = centered ? sum / count : 0;
    for (std::size_t i = first; i < x.size(); ++i)
      if (set[i] == set[first]) square += (x[i] - mean) * (x[i] - mean);
    const long double factor = 1 / std::sqrt(square / count + eps);
    for (std::size_t i = first; i < x.size(); ++i)
      if (set[i] == set[first]) out[i] = static_cast<double>((x[i] - mean) * factor);
  }
  return out;
}

// Of the elements of (N, C, S), row-major: f(n, c).
std::vector<std::int64_t> sets_of(std::int64_t n, std::int64_t c, std::int64_t s, auto&& f) {
  std::vector<std::int64_t> sets;
  for (std::int64_t i = 0; i < n * c * s; ++i) sets.push_back(f(i / s / c, i / s % c));
  return sets;
}

Value filled(DType dtype, std::int64_t count, double number) {
  return as_dtype(value(std::vector<double>(static_cast<std::size_t>(count), number), {count}), dtype);
}

void expect_near(const Value& got, const std::vector<double>& expected, double relative) {
  const std::vector<double> numbers = got.to_doubles();
  ASSERT_EQ(numbers.size(), expected.size());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    ASSERT_NEAR(numbers[i], expected[i], relative * std::max(1.0, std::abs(expected[i]))) << "element " << i;
}

TEST(BatchNorm, NormalizesEachChannel) {
  const Value x = random_value(DType::f32, {5, 19, 3, 7}, 1, -3, 4), weight = random_value(DType::f32, {19}, 2),
              bias = random_value(DType::f32, {19}, 3);
  std::vector<double> expected = normalized(x.to_doubles(), sets_of(5, 19, 21, [](auto, auto c) { return c; }));
  const std::vector<double> w = weight.to_doubles(), b = bias.to_doubles();
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = expected[i] * w[i / 21 % 19] + b[i / 21 % 19];
  const std::vector<Value> out = run(op("batch_norm"), {x, weight, bias});
  expect_near(out[0], expected, 1e-7);
  EXPECT_EQ(out[1].desc.dtype, DType::f64);
  double mean = 0;
  const std::vector<double> numbers = x.to_doubles();
  for (std::size_t i = 0; i < numbers.size(); ++i) mean += i / 21 % 19 == 4 ? numbers[i] / 105 : 0;
  EXPECT_NEAR(out[1].to_doubles()[4], mean, 1e-12);
}

// Distances from the first element, not squares of the numbers themselves: nothing cancels.
TEST(BatchNorm, FindsTheVarianceOfNumbersFarFromZero) {
  std::vector<double> numbers;
  for (int i = 0; i < 4096; ++i) numbers.push_back(16777216.0 + 2 * (i % 4));  // exact in f32; variance 5
  const Value x = as_dtype(value(numbers, {4096, 1}), DType::f32);
  const std::vector<Value> out = run(op("batch_norm"), {x, filled(DType::f32, 1, 1), filled(DType::f32, 1, 0)});
  EXPECT_DOUBLE_EQ(out[1].to_doubles()[0], 16777219.0);
  EXPECT_DOUBLE_EQ(out[2].to_doubles()[0], 5.0);
}

TEST(BatchNorm, KeepsChannelsLast) {
  const Value x = random_value(DType::f32, {2, 20, 3, 4}, 1), weight = random_value(DType::f32, {20}, 2),
              bias = random_value(DType::f32, {20}, 3);
  const std::vector<Value> plain = run(op("batch_norm"), {x, weight, bias});
  const std::vector<Value> last = run(op("batch_norm"), {laid_out(x, channels_last_strides(x.desc.shape)), weight, bias});
  EXPECT_EQ(last[0].desc.strides, channels_last_strides(x.desc.shape));
  EXPECT_EQ(plain[0].desc.strides, contiguous_strides(x.desc.shape));
  for (std::size_t k : {0, 1, 2}) EXPECT_EQ(plain[k].to_bytes(), last[k].to_bytes());
}

TEST(BatchNormStep, MovesTheRunningStatistics) {
  const Value mean = value(std::vector<float>{1, 2}, {2}), variance = value(std::vector<float>{3, 4}, {2}),
              batches = value(std::vector<std::int64_t>{9}, {}), new_mean = value(std::vector<double>{11, 12}, {2}),
              new_variance = value(std::vector<double>{3, 6}, {2});
  std::vector<Value> out =
      run(op("batch_norm_step", {{"count", 3}, {"momentum", 0.1}}), {mean, variance, batches, new_mean, new_variance});
  EXPECT_THAT(out[0].to_vector<float>(), ElementsAre(2, 3));         // 0.9 old + 0.1 new
  EXPECT_THAT(out[1].to_vector<float>(), ElementsAre(3.15f, 4.5f));  // unbiased: 4.5 and 9
  EXPECT_THAT(out[2].to_vector<std::int64_t>(), ElementsAre(10));
  out = run(op("batch_norm_step", {{"count", 3}}), {mean, variance, batches, new_mean, new_variance});
  EXPECT_THAT(out[0].to_vector<float>(), ElementsAre(2, 3));  // a tenth: the mean of ten batches
}

// Squares of these do not fit in f32 (B141 of the collected faults).
TEST(Norms, HugeValuesDoNotOverflow) {
  const std::vector<float> row = {1e30f, 2e30f, 3e30f, 4e30f};
  const float far = 1.3416408f, near = 0.4472136f;  // 1.5 and 0.5 by sqrt(1.25)
  const Value one = filled(DType::f32, 4, 1), zero = filled(DType::f32, 4, 0);
  const auto all_near = [&](const Value& got) {
    EXPECT_THAT(got.to_vector<float>(), ::testing::Pointwise(::testing::FloatEq(), {-far, -near, near, far}));
  };
  all_near(run(op("layer_norm"), {value(row, {1, 4}), one, zero})[0]);
  all_near(run(op("group_norm", {{"groups", 1}}), {value(row, {1, 4, 1, 1}), one, zero})[0]);
  const Value single = filled(DType::f32, 1, 1), none = filled(DType::f32, 1, 0);
  all_near(run(op("batch_norm"), {value(row, {4, 1, 1, 1}), single, none})[0]);
  const std::vector<float> by_root = {0.36514837f, 0.73029674f, 1.0954452f, 1.4605935f};  // by sqrt(7.5)
  EXPECT_THAT(run(op("rms_norm"), {value(row, {1, 4}), one})[0].to_vector<float>(),
              ::testing::Pointwise(::testing::FloatEq(), by_root));
}

// f16: squares above 256 overflow, and so does a count of 70,000 (B142).
TEST(Norms, NarrowTypesGiveTheResultOfWideOnesRounded) {
  const std::int64_t n = 70000;
  const Value x = random_value(DType::f16, {1, n}, 5, 900, 1100), wide = as_dtype(x, DType::f32);
  const Value image =
                  laid_out(random_value(DType::f16, {1, 2, 350, 100}, 6, -1000, 1000), channels_last_strides({1, 2, 350, 100})),
              wide_image = as_dtype(image, DType::f32);
  const Value one = filled(DType::f32, n, 1), zero = filled(DType::f32, n, 0), two = filled(DType::f32, 2, 1),
              none = filled(DType::f32, 2, 0);
  const auto same = [](const Value& narrow, const Value& wide_result) {
    EXPECT_EQ(narrow.to_bytes(), as_dtype(wide_result, DType::f16).to_bytes());
  };
  same(run(op("layer_norm"), {x, one, zero})[0], run(op("layer_norm"), {wide, one, zero})[0]);
  same(run(op("rms_norm"), {x, one})[0], run(op("rms_norm"), {wide, one})[0]);
  same(run(op("group_norm", {{"groups", 1}}), {image, two, none})[0],
       run(op("group_norm", {{"groups", 1}}), {wide_image, two, none})[0]);
  same(run(op("batch_norm"), {image, two, none})[0], run(op("batch_norm"), {wide_image, two, none})[0]);
}

// bf16 has 8 bits: moments kept in it would be far off (B143).
TEST(GroupNorm, KeepsItsMomentsWide) {
  const Value x = random_value(DType::bf16, {1, 10, 100, 10}, 7, 9.9, 10.1), one = filled(DType::f32, 10, 1),
              zero = filled(DType::f32, 10, 0);
  const std::vector<double> expected = normalized(x.to_doubles(), sets_of(1, 10, 1000, [](auto, auto) { return 0; }));
  expect_near(run(op("group_norm", {{"groups", 1}}), {x, one, zero})[0], expected, 0x1p-8);
}

TEST(GroupNorm, NormalizesEachGroupOfEachImage) {
  const Value x = random_value(DType::f32, {3, 12, 2, 5}, 1, -3, 4), weight = random_value(DType::f32, {12}, 2),
              bias = random_value(DType::f32, {12}, 3);
  std::vector<double> expected = normalized(x.to_doubles(), sets_of(3, 12, 10, [](auto n, auto c) { return n * 3 + c / 4; }));
  const std::vector<double> w = weight.to_doubles(), b = bias.to_doubles();
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = expected[i] * w[i / 10 % 12] + b[i / 10 % 12];
  expect_near(run(op("group_norm", {{"groups", 3}}), {x, weight, bias})[0], expected, 1e-6);
}

TEST(GroupNorm, OfEqualElementsHasTheGradientZero) {  // B065: a gradient, and not none
  const Value x = filled(DType::f32, 6, 1), image = value(x.to_vector<float>(), {3, 2, 1});
  const std::vector<Value> flows = run(op("group_norm_gradient", {{"groups", 2}}), {image, image, filled(DType::f32, 2, 1)});
  EXPECT_THAT(flows[0].to_doubles(), Each(DoubleNear(0, 1e-12)));
}

TEST(LayerNorm, NormalizesTheLastAxes) {
  const Value x = random_value(DType::f64, {4, 3, 7}, 1, -3, 4), weight = random_value(DType::f64, {3, 7}, 2),
              bias = random_value(DType::f64, {3, 7}, 3);
  std::vector<double> expected = normalized(x.to_doubles(), sets_of(4, 21, 1, [](auto n, auto) { return n; }));
  std::vector<double> root = normalized(x.to_doubles(), sets_of(4, 21, 1, [](auto n, auto) { return n; }), epsilon, false);
  const std::vector<double> w = weight.to_doubles(), b = bias.to_doubles();
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = expected[i] * w[i % 21] + b[i % 21], root[i] *= w[i % 21];
  expect_near(run(op("layer_norm"), {x, weight, bias})[0], expected, 1e-13);
  expect_near(run(op("rms_norm"), {x, weight})[0], root, 1e-13);
}

TEST(LayerNorm, OfEqualElementsIsTheBias) {
  const Value x = value(std::vector<float>(20, 3.7f), {1, 20});
  EXPECT_THAT(run(op("layer_norm"), {x, filled(DType::f32, 20, 2), filled(DType::f32, 20, 5)})[0].to_vector<float>(), Each(5.f));
}

TEST(Norms, ANanStaysInItsRow) {
  std::vector<float> numbers(40, 1.f);
  numbers[3] = std::numeric_limits<float>::quiet_NaN();
  numbers[25] = 2;
  const Value out = run(op("layer_norm"), {value(numbers, {2, 20}), filled(DType::f32, 20, 1), filled(DType::f32, 20, 0)})[0];
  const std::vector<float> got = out.to_vector<float>();
  for (int i = 0; i < 40; ++i) EXPECT_EQ(std::isnan(got[static_cast<std::size_t>(i)]), i < 20) << i;
}

TEST(Norms, RefuseWhatDoesNotFit) {
  const Value x = random_value(DType::f32, {2, 3, 4, 4}, 1), three = filled(DType::f32, 3, 1), four = filled(DType::f32, 4, 1);
  EXPECT_THAT(error_of([&] {
                run(op("batch_norm"), {x, four, four});
              }),
              HasSubstr("batch_norm: x of (2, 3, 4, 4) has 3 channels"));
  EXPECT_THAT(error_of([&] { run(op("layer_norm"), {x, three, three}); }), HasSubstr("(3,) and (2, 3, 4, 4)"));
  EXPECT_THAT(error_of([&] {
                run(op("group_norm", {{"groups", 2}}), {x, three, three});
              }),
              HasSubstr("3 channels do not fall into 2 groups"));
  EXPECT_THAT(error_of([&] { run(op("rms_norm", {{"epsilon", -1.0}}), {x, four}); }), HasSubstr("epsilon must be at least 0"));
}

}  // namespace
}  // namespace regrow
