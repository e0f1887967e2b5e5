// SPDX-License-Identifier: Apache-2.0
// Errors of rounded functions, in units of the last place of the exact result (long double), and their special values (C
// standard, annex F).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "regrow/kernels/elementwise.h"

namespace regrow::kernels {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

template <class T>
std::vector<T> evaluate(Unary f, const std::vector<T>& x) {
  std::vector<T> out(x.size());
  const void* in = x.data();
  unary(f, dtype_of<T>()).fn(&in, out.data(), x.size());
  return out;
}
template <class T>
std::vector<T> evaluate(Binary slope, const std::vector<T>& x) {
  std::vector<T> out(x.size()), ones(x.size(), T{1});
  const void* in[] = {ones.data(), x.data()};
  binary(slope, dtype_of<T>()).fn(in, out.data(), x.size());
  return out;
}

// |got - exact| in units of the last place that a T of the exact value's magnitude has.
template <class T>
double ulps(T got, long double exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : HUGE_VAL;
  if (std::fabs(exact) > std::numeric_limits<T>::max()) {  // infinite, or rounds to it
    const T rounded = static_cast<T>(exact);
    return got == rounded || std::isinf(got) ? 0 : HUGE_VAL;
  }
  const int exponent =
      exact == 0 ? std::numeric_limits<T>::min_exponent : std::max(std::ilogb(exact), std::numeric_limits<T>::min_exponent - 1);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - exact) /
                             std::ldexp(1.0L, exponent + 1 - std::numeric_limits<T>::digits));
}

struct Function {
  const char* name;
  Unary function;
  long double (*exact)(long double);
  double low, high;     // where it is sampled; all floats besides
  double single_bound;  // units of the last place
  double double_bound;
};

long double sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }
// x p(x), without the NaN of infinities.
long double weighted(long double x, long double probability) { return probability == 0 ? 0 : x * probability; }
long double silu(long double x) { return weighted(x, sigmoid(x)); }
long double gelu(long double x) { return weighted(x, std::erfc(-x / std::sqrt(2.0L)) / 2); }
const long double two_root_2_over_pi = std::sqrt(8 / std::acos(-1.0L));
long double gelu_tanh(long double x) { return weighted(x, sigmoid(two_root_2_over_pi * (x + 0.044715L * x * x * x))); }

const std::vector<Function>& functions() {
  static const std::vector<Function> all = {
      {"exp", Unary::exp, std::exp, -105, 90, 2, 1},     {"expm1", Unary::expm1, std::expm1, -20, 90, 4, 1.5},
      {"log", Unary::log, std::log, 0, 100, 4, 1},       {"log1p", Unary::log1p, std::log1p, -1, 100, 4, 1.5},
      {"sin", Unary::sin, std::sin, -20, 20, 3, 1},      {"cos", Unary::cos, std::cos, -20, 20, 3, 1},
      {"tanh", Unary::tanh, std::tanh, -10, 10, 4, 2.5}, {"sigmoid", Unary::sigmoid, sigmoid, -100, 40, 4, 3},
      {"erf", Unary::erf, std::erf, -5, 5, 3, 1.5},      {"silu", Unary::silu, silu, -110, 20, 4, 4},
      {"gelu", Unary::gelu, gelu, -15, 8, 6, 32},        {"gelu_tanh", Unary::gelu_tanh, gelu_tanh, -11, 6, 4, 16},
  };
  return all;
}

// Numbers of the interval, of its neighbourhood of 0 on a logarithmic scale, and (f32) any bits at all.
template <class T>
std::vector<T> samples(const Function& f) {
  std::mt19937_64 random(42);
  std::uniform_real_distribution<double> inside(f.low, f.high), exponent(-40, 7);
  std::vector<T> x;
  for (int i = 0; i < 100000; ++i) {
    x.push_back(static_cast<T>(inside(random)));
    x.push_back(static_cast<T>(std::exp2(exponent(random)) * (random() % 2 ? 1 : -1)));
    if constexpr (sizeof(T) == 4) x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  }
  return x;
}

template <class T>
void expect_within_bound(const Function& f, double bound) {
  const std::vector<T> x = samples<T>(f), y = evaluate(f.function, x);
  double worst = 0;
  T worst_at = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = ulps(y[i], f.exact(static_cast<long double>(x[i])));
    if (!(error <= worst)) worst = error, worst_at = x[i];
  }
  ::testing::Test::RecordProperty(f.name, std::to_string(worst));
  EXPECT_LE(worst, bound) << f.name << " at " << worst_at << " is " << evaluate<T>(f.function, {worst_at})[0] << ", not "
                          << static_cast<double>(f.exact(static_cast<long double>(worst_at)));
}

TEST(Transcendental, SinglePrecisionIsWithinItsBounds) {
  for (const Function& f : functions()) expect_within_bound<float>(f, f.single_bound);
}

TEST(Transcendental, DoublePrecisionIsWithinItsBounds) {
  for (const Function& f : functions()) expect_within_bound<double>(f, f.double_bound);
}

// Where nothing cancels: left of the least value. The step of the differences is small against every scale of the functions.
TEST(Transcendental, SlopesOfActivationsKeepTheirDigitsFarBelowZero) {
  struct Slope {
    Binary function;
    long double (*value)(long double);
    float low, high;
  };
  for (const Slope& f : {Slope{Binary::silu_gradient, silu, -103, -3}, Slope{Binary::gelu_gradient, gelu, -14, -2},
                         Slope{Binary::gelu_tanh_gradient, gelu_tanh, -10, -2}})
    for (float x = f.low; x < f.high; x += 0.37f) {
      const long double step = 1e-5L, wide = x;
      const long double exact =
          (8 * (f.value(wide + step) - f.value(wide - step)) - (f.value(wide + 2 * step) - f.value(wide - 2 * step))) /
          (12 * step);
      EXPECT_LE(ulps(evaluate<float>(f.function, {x})[0], exact), 8) << static_cast<int>(f.function) << " at " << x;
      const double got = evaluate<double>(f.function, {static_cast<double>(x)})[0];
      EXPECT_NEAR(got, static_cast<double>(exact), 1e-12 * std::fabs(got)) << static_cast<int>(f.function) << " at " << x;
    }
}

TEST(Transcendental, SpecialValues) {
  const std::vector<float> x{0.0f, -0.0f, inf, -inf, nan, -1, 1};
  const auto expect = [&](Unary f, const std::vector<float>& wanted) {
    const std::vector<float> got = evaluate(f, x);
    const std::vector<double> wide = evaluate(f, std::vector<double>(x.begin(), x.end()));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_TRUE(std::isnan(wanted[i]) ? std::isnan(got[i])
                                        : got[i] == wanted[i] && std::signbit(got[i]) == std::signbit(wanted[i]))
          << "function " << static_cast<int>(f) << " of " << x[i] << " is " << got[i];
      EXPECT_TRUE(std::isnan(wanted[i]) ? std::isnan(wide[i]) : wide[i] == static_cast<double>(wanted[i])) << "of f64 " << x[i];
    }
  };
  expect(Unary::exp, {1, 1, inf, 0, nan});
  expect(Unary::expm1, {0.0f, -0.0f, inf, -1, nan});
  expect(Unary::log, {-inf, -inf, inf, nan, nan, nan, 0});
  expect(Unary::log1p, {0.0f, -0.0f, inf, nan, nan, -inf});
  expect(Unary::sin, {0.0f, -0.0f, nan, nan, nan});
  expect(Unary::cos, {1, 1, nan, nan, nan});
  expect(Unary::tanh, {0.0f, -0.0f, 1, -1, nan});
  expect(Unary::sigmoid, {0.5f, 0.5f, 1, 0, nan});
  expect(Unary::erf, {0.0f, -0.0f, 1, -1, nan});
  for (Unary f : {Unary::silu, Unary::gelu_tanh}) expect(f, {0.0f, -0.0f, inf, -0.0f, nan});
  expect(Unary::gelu, {0.0f, -0.0f, inf, 0.0f, nan});
}

}  // namespace
}  // namespace regrow::kernels
