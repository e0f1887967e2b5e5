// SPDX-License-Identifier: Apache-2.0
// Random operators: values depend on the random state and an element's place alone, and have the distribution that they claim.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "regrow/kernels/parallel.h"
#include "regrow/ops/random.h"
#include "tests/ops/direct.h"

namespace regrow {
namespace {

using direct::call;
using direct::error_of;
using direct::numbers;
using direct::same_bits;
using ::testing::HasSubstr;

constexpr RandomState state{11, 5};

HostArray draw(const Op& op, RandomState random = state) { return call(op, {}, {.random = random}); }

double mean(const std::vector<double>& x) {
  double sum = 0;
  for (double value : x) sum += value;
  return sum / static_cast<double>(x.size());
}

TEST(Random, TheStateDecidesAll) {
  const Op normal = op("normal", {{"shape", Dims{3000}}});
  EXPECT_TRUE(same_bits(draw(normal), draw(normal)));
  EXPECT_FALSE(same_bits(draw(normal, {11, 5}), draw(normal, {11, 6})));
  EXPECT_FALSE(same_bits(draw(normal, {11, 5}), draw(normal, {12, 5})));
}

// A shorter result is the beginning of a longer one, and the shape only says how the numbers are laid out.
TEST(Random, AnElementDependsOnItsPlaceAlone) {
  for (DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    const std::vector<double> longer = numbers(draw(op("normal", {{"shape", Dims{70, 50}}, {"dtype", dtype}})));
    for (std::int64_t n : {1, 2, 3, 63, 64, 65, 1023, 1024, 1025, 2049}) {
      const std::vector<double> shorter = numbers(draw(op("normal", {{"shape", Dims{n}}, {"dtype", dtype}})));
      EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), longer.begin())) << n << " elements";
    }
  }
}

TEST(Random, DoesNotDependOnTheNumberOfThreads) {
  const int before = kernels::kernel_threads();
  const Op normal = op("normal", {{"shape", Dims{300, 1001}}});
  kernels::set_kernel_threads(1);
  const HostArray alone = draw(normal);
  kernels::set_kernel_threads(3);
  EXPECT_TRUE(same_bits(alone, draw(normal)));
  kernels::set_kernel_threads(before);
}

TEST(Random, NormalHasItsMeanAndDeviation) {
  const std::vector<double> x = numbers(draw(op("normal", {{"shape", Dims{200000}}, {"mean", 3.0}, {"stddev", 0.5}})));
  EXPECT_NEAR(mean(x), 3, 5 * 0.5 / std::sqrt(200000.0));
  EXPECT_THAT(error_of([] {
                draw(op("normal", {{"shape", Dims{2}}, {"stddev", -1.0}}));
              }),
              HasSubstr("normal: a standard deviation is at least 0"));
  EXPECT_THAT(error_of([] {
                draw(op("normal", {{"shape", Dims{2}}, {"dtype", DType::i32}}));
              }),
              HasSubstr("normal: is not defined for i32"));
}

TEST(Random, UniformStaysBelowItsEnd) {
  for (DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    for (const auto& [low, high] : {std::pair{0.0, 1.0}, {1.0, 2.0}, {-3.0, -1.0}, {-1.0, 0.0}}) {
      const std::vector<double> x =
          numbers(draw(op("uniform", {{"shape", Dims{100000}}, {"low", low}, {"high", high}, {"dtype", dtype}})));
      EXPECT_GE(*std::min_element(x.begin(), x.end()), low);
      EXPECT_LT(*std::max_element(x.begin(), x.end()), high) << name_of(dtype);
      EXPECT_NEAR(mean(x), (low + high) / 2, 0.01 * (high - low));
    }
  }
  EXPECT_THAT(error_of([] {
                draw(op("uniform", {{"shape", Dims{2}}, {"low", 1.0}, {"high", 1.0}}));
              }),
              HasSubstr("low must be below high"));
}

// 60,000 throws of a die: chi-squared with 5 degrees of freedom is above 25.7 once in 10,000 times.
TEST(Random, IntegersAreEquallyLikely) {
  const std::vector<double> x =
      numbers(draw(op("randint", {{"shape", Dims{60000}}, {"low", -2}, {"high", 4}, {"dtype", DType::i8}})));
  std::vector<double> times(6);
  for (double value : x) {
    ASSERT_TRUE(value >= -2 && value < 4);
    ++times[static_cast<std::size_t>(value + 2)];
  }
  double chi = 0;
  for (double n : times) chi += (n - 10000) * (n - 10000) / 10000;
  EXPECT_LT(chi, 25.7);
  EXPECT_THAT(error_of([] {
                draw(op("randint", {{"shape", Dims{2}}, {"low", 0}, {"high", 300}, {"dtype", DType::u8}}));
              }),
              HasSubstr("299 does not fit in u8"));
  EXPECT_EQ(numbers(draw(op("randint", {{"shape", Dims{1}}, {"low", 7}, {"high", 8}}))).front(), 7);
}

TEST(Random, BernoulliHasItsProbability) {
  for (double p : {0.0, 0.3, 1.0}) {
    const double share = mean(numbers(draw(op("bernoulli", {{"shape", Dims{100000}}, {"p", p}}))));
    EXPECT_NEAR(share, p, 5 * std::sqrt(p * (1 - p) / 100000));
  }
  EXPECT_THAT(error_of([] {
                draw(op("bernoulli", {{"shape", Dims{2}}, {"p", 1.5}}));
              }),
              HasSubstr("a probability is at least 0 and at most 1"));
}

// statistics.NormalDist().inv_cdf of Python, by the same algorithm.
TEST(Random, QuantilesOfTheNormalDistribution) {
  EXPECT_DOUBLE_EQ(random::normal_quantile(0.975), 1.9599639845400536);
  EXPECT_DOUBLE_EQ(random::normal_quantile(0.3), -0.5244005127080407);
  EXPECT_DOUBLE_EQ(random::normal_quantile(1e-10), -6.361340902404056);
  EXPECT_NEAR(random::normal_quantile(1e-300), -37.0471, 1e-4);
}

// Mean (phi(a) - phi(b)) / (Phi(b) - Phi(a)); variance of the symmetric one 1 - 2 b phi(b) / (Phi(b) - Phi(-b)).
TEST(TruncatedNormal, HasItsMomentsAndEnds) {
  const std::vector<double> x = numbers(draw(op("truncated_normal", {{"shape", Dims{200000}}, {"dtype", DType::f64}})));
  EXPECT_GE(*std::min_element(x.begin(), x.end()), -2);
  EXPECT_LE(*std::max_element(x.begin(), x.end()), 2);
  EXPECT_NEAR(mean(x), 0, 0.01);
  double square = 0;
  for (double value : x) square += value * value;
  EXPECT_NEAR(square / 200000, 0.77374, 0.01);
  const Op upper =
      op("truncated_normal", {{"shape", Dims{200000}}, {"low", 1.0}, {"high", 3.0}, {"mean", 10.0}, {"stddev", 2.0}});
  const std::vector<double> y = numbers(draw(upper));
  EXPECT_GE(*std::min_element(y.begin(), y.end()), 12);
  EXPECT_LE(*std::max_element(y.begin(), y.end()), 16);
  EXPECT_NEAR(mean(y), 10 + 2 * 1.51005, 0.01);
  const std::vector<double> tail = numbers(draw(op("truncated_normal", {{"shape", Dims{1000}}, {"low", 30.0}, {"high", 31.0}})));
  EXPECT_NEAR(mean(tail), 30.033, 0.01);  // nearly exponential: 1 / 30 beyond the end
}

TEST(Permutation, HasEachNumberOnceInAnyOrder) {
  const HostArray order = draw(op("permutation", {{"count", 5000}}));
  std::vector<std::int64_t> numbers_of = order.to_vector<std::int64_t>();
  EXPECT_FALSE(std::is_sorted(numbers_of.begin(), numbers_of.end()));
  std::sort(numbers_of.begin(), numbers_of.end());
  for (std::int64_t i = 0; i < 5000; ++i) ASSERT_EQ(numbers_of[static_cast<std::size_t>(i)], i);
  // 6000 orders of three: chi-squared with 5 degrees of freedom is above 25.7 once in 10,000 times.
  double counts[6] = {}, chi = 0;
  for (std::uint64_t k = 0; k < 6000; ++k) {
    const std::vector<double> three = numbers(draw(op("permutation", {{"count", 3}}), {11, k}));
    ++counts[static_cast<int>(three[0]) * 2 + (three[1] > three[2])];
  }
  for (double count : counts) chi += (count - 1000) * (count - 1000) / 1000;
  EXPECT_LT(chi, 25.7);
}

TEST(Categorical, ChoosesAsTheSoftmaxSays) {
  const HostArray logits = HostArray::from(std::vector<float>{std::log(1.0f), std::log(2.0f), -INFINITY, std::log(5.0f)}, {4});
  const Op spread = op("broadcast_to", {{"shape", Dims{80000, 4}}});
  const direct::Value many = direct::run(spread, {direct::value_of(logits)}).at(0);
  double counts[4] = {};
  for (double chosen : numbers(direct::host(direct::run(op("categorical"), {many}, {.random = state}).at(0))))
    ++counts[static_cast<int>(chosen)];
  EXPECT_NEAR(counts[0], 10000, 500);  // five deviations
  EXPECT_NEAR(counts[1], 20000, 650);
  EXPECT_EQ(counts[2], 0);
  EXPECT_NEAR(counts[3], 50000, 700);
}

TEST(Categorical, OfNoDistributionIsAnErrorOfTheRun) {
  for (float bad : {NAN, INFINITY}) {
    const HostArray logits = HostArray::from(std::vector<float>{0, 0, 0, bad}, {2, 2});
    EXPECT_THAT(error_of([&] { call(op("categorical"), {logits}); }), HasSubstr("categorical: the logits of line 1 are no distribution"));
  }
  const HostArray nothing = HostArray::from(std::vector<float>{-INFINITY, -INFINITY}, {2});
  EXPECT_THAT(error_of([&] { call(op("categorical"), {nothing}); }), HasSubstr("line 0"));
}

TEST(Dropout, KeepsOrDropsAndScalesWhatItKeeps) {
  const HostArray x = call(op("full", {{"shape", Dims{100, 1000}}, {"value", Scalar(3.0)}}), {});
  const std::vector<double> y = numbers(call(op("dropout", {{"p", 0.25}}), {x}, {.random = state}));
  EXPECT_TRUE(std::all_of(y.begin(), y.end(), [](double value) { return value == 0 || value == 4; }));
  EXPECT_NEAR(mean(y), 3, 5 * std::sqrt(3.0 / 100000));
  for (double value : numbers(call(op("dropout", {{"p", 1.0}}), {x}, {.random = state}))) ASSERT_EQ(value, 0);
  EXPECT_TRUE(same_bits(call(op("dropout", {{"p", 0.0}}), {x}, {.random = state}), x));
  EXPECT_THAT(error_of([&] { call(op("dropout", {{"p", -0.5}}), {x}); }), HasSubstr("a probability is at least 0"));
}

// Infinity is dropped too: not turned into NaN.
TEST(Dropout, OfInfinityIsInfinityOrZero) {
  const HostArray x = call(op("full", {{"shape", Dims{1000}}, {"value", Scalar(INFINITY)}}), {});
  for (double p : {0.5, 1.0})
    for (double value : numbers(call(op("dropout", {{"p", p}}), {x}, {.random = state})))
      ASSERT_TRUE(value == 0 || value == INFINITY);
}

TEST(Dropout, DropsTheSameElementsWhateverTheLayout) {
  const Shape shape{2, 8, 5, 7};
  const HostArray x = draw(op("normal", {{"shape", shape}}));
  const HostArray plain = call(op("dropout", {{"p", 0.5}}), {x}, {.random = state});
  const direct::Value last = direct::value_of(x, channels_last_strides(shape));
  const direct::Value out = direct::run(op("dropout", {{"p", 0.5}}), {last}, {.random = state}).at(0);
  EXPECT_EQ(out.desc.strides, channels_last_strides(shape));
  EXPECT_TRUE(same_bits(direct::host(out), plain));
}

}  // namespace
}  // namespace regrow
