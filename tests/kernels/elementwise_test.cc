// SPDX-License-Identifier: Apache-2.0
// Kernels by value. Expected values: NumPy 1.24 (in comments where a rule differs), IEEE 754, or exact arithmetic.
#include "regrow/kernels/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <type_traits>

#include "tests/kernels/strided_tensor.h"

namespace regrow::kernels {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// Equal, NaN to NaN. (A matcher for each list would take the compiler minutes.)
template <class T>
::testing::AssertionResult same(const std::vector<T>& got, const std::vector<std::type_identity_t<T>>& wanted) {
  bool equal = got.size() == wanted.size();
  for (std::size_t i = 0; equal && i < got.size(); ++i)
    equal = got[i] == wanted[i] || (got[i] != got[i] && wanted[i] != wanted[i]);
  return equal ? ::testing::AssertionSuccess()
               : ::testing::AssertionFailure() << ::testing::PrintToString(got) << ", not " << ::testing::PrintToString(wanted);
}

template <class Out, class T>
std::vector<Out> apply(const TileKernel& kernel, const std::vector<std::vector<T>>& in) {
  std::vector<Out> out(in[0].size());
  const void* pointers[max_tile_inputs];
  for (std::size_t a = 0; a < in.size(); ++a) pointers[a] = in[a].data();
  kernel.fn(pointers, out.data(), out.size());
  return out;
}

template <class T>
std::vector<T> apply(Unary f, const std::vector<T>& a) {
  return apply<T, T>(unary(f, dtype_of<T>()), {a});
}
template <class T>
std::vector<T> apply(Binary f, const std::vector<T>& a, const std::vector<T>& b) {
  return apply<T, T>(binary(f, dtype_of<T>()), {a, b});
}
template <class T>
std::vector<std::uint8_t> compare(Binary f, const std::vector<T>& a, const std::vector<T>& b) {
  return apply<std::uint8_t, T>(binary(f, dtype_of<T>()), {a, b});
}
template <class To, class From>
std::vector<To> cast(const std::vector<From>& values) {
  std::vector<To> out(values.size());
  const void* from = values.data();
  convert(dtype_of<From>(), dtype_of<To>()).fn(&from, out.data(), values.size());
  return out;
}

std::vector<std::uint32_t> bits(const std::vector<float>& values) {
  return std::vector<std::uint32_t>(reinterpret_cast<const std::uint32_t*>(values.data()),
                                    reinterpret_cast<const std::uint32_t*>(values.data()) + values.size());
}

TEST(Arithmetic, IntegersWrap) {
  EXPECT_TRUE(same(apply<std::int8_t>(Binary::add, {127, -128}, {1, -1}), {-128, 127}));
  EXPECT_TRUE(same(apply<std::uint8_t>(Binary::subtract, {0, 5}, {1, 250}), {255, 11}));
  EXPECT_TRUE(same(apply<std::int16_t>(Binary::multiply, {300, -32768}, {300, -1}), {24464, -32768}));
  EXPECT_TRUE(same(apply<std::uint16_t>(Binary::multiply, {65535}, {65535}), {1}));
  EXPECT_TRUE(same(apply<std::int32_t>(Unary::negative, {INT32_MIN, 5}), {INT32_MIN, -5}));
  EXPECT_TRUE(same(apply<std::int64_t>(Unary::abs, {INT64_MIN, -5, 5}), {INT64_MIN, 5, 5}));
  EXPECT_TRUE(same(apply<std::int64_t>(Unary::square, {std::int64_t{1} << 32}), {0}));
}

TEST(Arithmetic, DivisionRoundsDownAndTheRemainderHasTheDivisorsSign) {
  // np.floor_divide and np.remainder of [7, -7, 7, -7, 6, -6] and [3, 3, -3, -3, 3, 3]
  const std::vector<std::int32_t> a{7, -7, 7, -7, 6, -6}, b{3, 3, -3, -3, 3, 3};
  EXPECT_TRUE(same(apply(Binary::floor_divide, a, b), {2, -3, -3, 2, 2, -2}));
  EXPECT_TRUE(same(apply(Binary::remainder, a, b), {1, 2, -2, -1, 0, 0}));
  EXPECT_TRUE(same(apply<std::int8_t>(Binary::floor_divide, {5, -128, 0}, {0, -1, 0}), {0, -128, 0}));
  EXPECT_TRUE(same(apply<std::int8_t>(Binary::remainder, {5, -128, 0}, {0, -1, 0}), {0, 0, 0}));
  EXPECT_TRUE(same(apply<std::uint64_t>(Binary::floor_divide, {UINT64_MAX, 9}, {2, 0}), {INT64_MAX, 0}));
  const std::vector<float> x{7.5f, -7.5f, 7.5f, -0.0f, 1.0f, -1.0f, 5.0f, inf, 3.0f}, y{2, 2, -2, 3, 0, 0, inf, 2, -inf};
  // np.floor_divide: [3, -4, -4, -0, inf, -inf, 0, nan, -1]; np.remainder: [1.5, 0.5, -0.5, 0, nan, nan, 5, nan, -inf]
  EXPECT_TRUE(same(apply(Binary::floor_divide, x, y), {3, -4, -4, -0.0f, inf, -inf, 0, nan, -1}));
  EXPECT_TRUE(same(apply(Binary::remainder, x, y), {1.5f, 0.5f, -0.5f, 0, nan, nan, 5, nan, -inf}));
  EXPECT_TRUE(std::signbit(apply(Binary::floor_divide, x, y)[3]));
}

TEST(Arithmetic, PowerOfIntegersAndOfNegativeBases) {
  EXPECT_TRUE(same(apply<std::int32_t>(Binary::power, {2, -3, 0, 2, 1, -1, -1, 0}, {10, 3, 0, -1, -5, -3, -4, -2}),
                   {1024, -27, 1, 0, 1, -1, 1, 0}));
  EXPECT_TRUE(same(apply<std::uint8_t>(Binary::power, {3, 2}, {6, 8}), {217, 0}));  // wraps, as NumPy
  EXPECT_TRUE(same(apply<float>(Binary::power, {-1, -3, -2, 0, 2, -8, nan, 3}, {2, 3, -2, 0, 0.5f, 0.5f, 0, nan}),
                   {1, -27, 0.25f, 1, std::sqrt(2.0f), nan, 1, nan}));
}

TEST(Arithmetic, MaximumAndMinimumPropagateNaN) {
  const std::vector<float> a{1, nan, 1, inf, -0.0f}, b{2, 1, nan, -inf, 0.0f};
  EXPECT_TRUE(same(apply(Binary::maximum, a, b), {2, nan, nan, inf, 0}));
  EXPECT_TRUE(same(apply(Binary::minimum, a, b), {1, nan, nan, -inf, 0}));
  EXPECT_TRUE(same(apply<std::uint8_t>(Binary::maximum, {200}, {100}), {200}));
  EXPECT_TRUE(same(apply<std::int8_t>(Binary::maximum, {-56}, {100}), {100}));
}

TEST(Arithmetic, BooleansAddAsOrAndMultiplyAsAnd) {
  const std::vector<std::vector<std::uint8_t>> in{{0, 0, 1, 1}, {0, 1, 0, 1}};
  EXPECT_TRUE(same((apply<std::uint8_t>(binary(Binary::add, DType::boolean), in)), {0, 1, 1, 1}));
  EXPECT_TRUE(same((apply<std::uint8_t>(binary(Binary::multiply, DType::boolean), in)), {0, 0, 0, 1}));
  EXPECT_EQ(binary(Binary::subtract, DType::boolean).fn, nullptr);
  EXPECT_EQ(unary(Unary::negative, DType::boolean).fn, nullptr);
}

TEST(Arithmetic, RoundingIsToEvenAndKeepsTheSignOfZero) {
  const std::vector<float> x{0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 8388609.0f, inf};
  EXPECT_TRUE(same(apply(Unary::round, x), {0, 2, 2, -0.0f, -2, 8388609.0f, inf}));
  EXPECT_TRUE(std::signbit(apply(Unary::round, x)[3]));
  EXPECT_TRUE(same(apply(Unary::floor, x), {0, 1, 2, -1, -2, 8388609.0f, inf}));
  EXPECT_TRUE(same(apply(Unary::ceil, x), {1, 2, 3, -0.0f, -1, 8388609.0f, inf}));
  EXPECT_TRUE(same(apply(Unary::trunc, x), {0, 1, 2, -0.0f, -1, 8388609.0f, inf}));
  EXPECT_TRUE(same(apply<std::int16_t>(Unary::floor, {-3, 7}), {-3, 7}));
}

TEST(Arithmetic, SpecialValuesOfFloats) {
  EXPECT_TRUE(same(apply<float>(Unary::sign, {-2, 0, -0.0f, 3, nan, -inf}), {-1, 0, 0, 1, nan, -1}));
  EXPECT_TRUE(same(apply<float>(Unary::relu, {-2, -0.0f, 3, nan, -inf, inf}), {0, 0, 3, nan, 0, inf}));
  EXPECT_FALSE(std::signbit(apply<float>(Unary::relu, {-0.0f})[0]));
  EXPECT_TRUE(same(apply<float>(Unary::sqrt, {4, -0.0f, -1, inf}), {2, -0.0f, nan, inf}));
  EXPECT_TRUE(same(apply<float>(Unary::reciprocal, {4, 0, -0.0f, inf}), {0.25f, inf, -inf, 0}));
  EXPECT_TRUE(same(apply<float>(Unary::negative, {0, nan}), {-0.0f, nan}));
  EXPECT_TRUE(std::signbit(apply<float>(Unary::negative, {0})[0]));
  EXPECT_TRUE(same(apply<float>(Binary::divide, {1, -1, 0}, {0, 0, 0}), {inf, -inf, nan}));
  EXPECT_TRUE(same(apply<float>(Binary::multiply, {0x1p-149f}, {0.5f}), {0}));          // ties to even at the least denormal
  EXPECT_TRUE(same(apply<float>(Binary::add, {0x1p-149f}, {0x1p-149f}), {0x1p-148f}));  // nothing is flushed
  EXPECT_TRUE(same(apply<float>(Binary::sqrt_gradient, {0, 1, 2}, {0, 0, 2}), {0, inf, 0.5f}));
}

TEST(Comparison, NaNIsUnlikeEverything) {
  const std::vector<float> a{1, nan, nan, 0.0f, inf}, b{1, nan, 1, -0.0f, -inf};
  EXPECT_TRUE(same(compare(Binary::equal, a, b), {1, 0, 0, 1, 0}));
  EXPECT_TRUE(same(compare(Binary::not_equal, a, b), {0, 1, 1, 0, 1}));
  EXPECT_TRUE(same(compare(Binary::less, a, b), {0, 0, 0, 0, 0}));
  EXPECT_TRUE(same(compare(Binary::less_equal, a, b), {1, 0, 0, 1, 0}));
  EXPECT_TRUE(same(compare(Binary::greater, a, b), {0, 0, 0, 0, 1}));
  EXPECT_TRUE(same(compare(Binary::greater_equal, a, b), {1, 0, 0, 1, 1}));
  EXPECT_TRUE(same(compare(Binary::logical_and, a, b), {1, 1, 1, 0, 1}));
}

TEST(Comparison, IntegersCompareWithTheirSign) {
  EXPECT_TRUE(same(compare<std::uint64_t>(Binary::less, {UINT64_MAX, 1}, {1, UINT64_MAX}), {0, 1}));
  EXPECT_TRUE(same(compare<std::int64_t>(Binary::less, {-1, 1}, {1, -1}), {1, 0}));
  EXPECT_TRUE(same(compare<std::int8_t>(Binary::logical_xor, {-1, 0, 5}, {0, 0, 7}), {1, 0, 0}));
}

TEST(Comparison, ClassesOfNumbers) {
  const std::vector<std::vector<float>> x{{1, nan, inf, -inf, 0x1p-149f, -0.0f}};
  EXPECT_TRUE(same((apply<std::uint8_t>(unary(Unary::is_nan, DType::f32), x)), {0, 1, 0, 0, 0, 0}));
  EXPECT_TRUE(same((apply<std::uint8_t>(unary(Unary::is_inf, DType::f32), x)), {0, 0, 1, 1, 0, 0}));
  EXPECT_TRUE(same((apply<std::uint8_t>(unary(Unary::is_finite, DType::f32), x)), {1, 0, 0, 0, 1, 1}));
  EXPECT_TRUE(same((apply<std::uint8_t>(unary(Unary::logical_not, DType::f32), x)), {0, 0, 0, 0, 0, 1}));
  const std::vector<std::vector<std::int32_t>> whole{{0, -5}};
  EXPECT_TRUE(same((apply<std::uint8_t>(unary(Unary::is_finite, DType::i32), whole)), {1, 1}));
  EXPECT_TRUE(same((apply<std::uint8_t>(unary(Unary::is_nan, DType::i32), whole)), {0, 0}));
}

// The same in every lane: lengths 1 to 70 put each value into each position of a vector and of its tail.
template <class To>
void expect_saturated(const std::vector<float>& from, const std::vector<To>& wanted) {
  for (std::size_t shift = 0; shift < 70; ++shift) {
    std::vector<float> values(shift, 1.0f);
    std::vector<To> expected(shift, To{1});
    values.insert(values.end(), from.begin(), from.end());
    expected.insert(expected.end(), wanted.begin(), wanted.end());
    ASSERT_EQ(cast<To>(values), expected) << "after " << shift;
    ASSERT_EQ(cast<To>(cast<double>(values)), expected) << "from f64, after " << shift;
  }
}

TEST(Conversion, FloatsSaturateAndNaNIsZero) {
  expect_saturated<std::int8_t>({nan, inf, -inf, 300, -300, 127.9f, -128.9f, 2.9f, -2.9f},
                                {0, 127, -128, 127, -128, 127, -128, 2, -2});
  expect_saturated<std::uint8_t>({nan, inf, -inf, 300, -0.9f, 255.9f, -7}, {0, 255, 0, 255, 0, 255, 0});
  expect_saturated<std::int16_t>({nan, 1e6f, -1e6f, 32767.5f}, {0, 32767, -32768, 32767});
  expect_saturated<std::uint16_t>({nan, 1e6f, -1, 65535}, {0, 65535, 0, 65535});
  expect_saturated<std::int32_t>({nan, inf, -inf, 2147483648.0f, 2147483520.0f, -2147483648.0f},
                                 {0, INT32_MAX, INT32_MIN, INT32_MAX, 2147483520, INT32_MIN});
  expect_saturated<std::uint32_t>({nan, inf, -1, 4294967040.0f, 3e9f}, {0, UINT32_MAX, 0, 4294967040u, 3000000000u});
  expect_saturated<std::int64_t>({nan, inf, -inf, 9223371487098961920.0f}, {0, INT64_MAX, INT64_MIN, 9223371487098961920});
  expect_saturated<std::uint64_t>({nan, inf, -inf, 18446742974197923840.0f}, {0, UINT64_MAX, 0, 18446742974197923840u});
}

TEST(Conversion, BetweenIntegersKeepsTheLowBitsAndExtendsTheSign) {
  EXPECT_TRUE(same((cast<std::int8_t, std::int32_t>({300, -1, 128})), {44, -1, -128}));
  EXPECT_TRUE(same((cast<std::uint64_t, std::int8_t>({-1})), {UINT64_MAX}));
  EXPECT_TRUE(same((cast<std::int64_t, std::uint32_t>({UINT32_MAX})), {4294967295}));
  const std::int32_t numbers[] = {0, 256, -1};
  std::vector<std::uint8_t> truths(3);
  const void* from = numbers;
  convert(DType::i32, DType::boolean).fn(&from, truths.data(), 3);
  EXPECT_TRUE(same(truths, {0, 1, 1}));
}

TEST(Conversion, WholeNumbersBecomeFloatsRoundedOnce) {
  EXPECT_TRUE(same((cast<float, std::int64_t>({(std::int64_t{1} << 24) + 1, INT64_MAX})), {16777216.0f, 9223372036854775808.0f}));
  EXPECT_TRUE(same((cast<float, std::uint64_t>({UINT64_MAX, 1})), {18446744073709551616.0f, 1}));
  EXPECT_TRUE(same((cast<double, std::uint64_t>({UINT64_MAX})), {18446744073709551616.0}));
}

// np.float64(x).astype(np.float16): by way of f32 the first would round twice, to 1.
TEST(Conversion, ToSixteenBitsRoundsOnce) {
  const double above_half = 1 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(static_cast<float>(cast<Half, double>({above_half})[0]), 1.0009765625f);
  EXPECT_EQ(static_cast<float>(cast<Half, double>({1 + 0x1p-11})[0]), 1.0f);
  EXPECT_EQ(static_cast<float>(cast<Half, double>({-(1 + 3 * 0x1p-11 - 0x1p-40)})[0]), -1.0009765625f);
  EXPECT_EQ(static_cast<float>(cast<BFloat16, double>({1 + 0x1p-8 + 0x1p-45})[0]), 1.0078125f);
  EXPECT_EQ(static_cast<float>(cast<BFloat16, std::int64_t>({(std::int64_t{1} << 60) + (std::int64_t{1} << 52) + 1})[0]),
            0x1p60f + 0x1p53f);
  EXPECT_EQ(static_cast<float>(cast<Half, std::int32_t>({65519})[0]), 65504.0f);
  EXPECT_EQ(static_cast<float>(cast<Half, std::int32_t>({65520})[0]), inf);
  EXPECT_TRUE(std::isnan(static_cast<float>(cast<Half, double>({std::nan("")})[0])));
  EXPECT_EQ(static_cast<float>(cast<Half, double>({1e300})[0]), inf);
}

// All 65,536 halves to f32 and back, and the rounding of what lies between them, against the scalar conversions of tensor/half.h.
TEST(Conversion, OfSixteenBitsInVectorsIsAsOneByOne) {
  std::vector<Half> halves(65536);
  std::vector<BFloat16> brains(65536);
  for (std::uint32_t i = 0; i < 65536; ++i) halves[i].bits = brains[i].bits = static_cast<std::uint16_t>(i);
  const std::vector<float> wide = cast<float>(halves), wide_brain = cast<float>(brains);
  std::vector<float> between;
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto exact = static_cast<float>(halves[i]);
    if (std::isnan(exact)) {
      ASSERT_TRUE(std::isnan(wide[i]));
    } else {
      ASSERT_EQ(wide[i], exact);
      for (float factor : {1.0f, 1 + 0x1p-11f, 1 + 0x1p-12f, 1 - 0x1p-12f}) between.push_back(exact * factor);
    }
    ASSERT_EQ(std::bit_cast<std::uint32_t>(wide_brain[i]), i << 16);
  }
  for (float extreme : {65519.99f, 65520.0f, 1e30f, -1e30f, 0x1p-25f, 0x1p-26f, 3e-8f, inf, -inf}) between.push_back(extreme);
  const std::vector<Half> narrow = cast<Half>(between);
  const std::vector<BFloat16> narrow_brain = cast<BFloat16>(between);
  for (std::size_t i = 0; i < between.size(); ++i) {
    ASSERT_EQ(narrow[i].bits, Half(between[i]).bits) << between[i];
    ASSERT_EQ(narrow_brain[i].bits, BFloat16(between[i]).bits) << between[i];
  }
}

TEST(Select, CopiesBitsWhateverTheyMean) {
  const std::vector<std::uint8_t> condition{1, 0, 2};
  const std::vector<float> a{nan, 1, -0.0f}, b{5, 6, 7};
  std::vector<float> out(3);
  const void* in[] = {condition.data(), a.data(), b.data()};
  select(DType::f32).fn(in, out.data(), 3);
  EXPECT_EQ(bits(out), (std::vector<std::uint32_t>{bits(a)[0], bits({6})[0], bits({-0.0f})[0]}));
}

// Each kernel over every length and every alignment: an element's bits are those it has alone, and nothing beyond is touched.
void expect_position_independent(const TileKernel& kernel, int arity, std::mt19937& random) {
  constexpr std::size_t most = 150;
  std::vector<std::vector<std::byte>> in;
  const void* from[max_tile_inputs];
  for (int a = 0; a < arity; ++a) {
    const DType type = kernel.operands[static_cast<std::size_t>(a)];
    std::vector<std::byte>& bytes = in.emplace_back(most * size_of(type));
    for (std::byte& byte : bytes)
      byte = static_cast<std::byte>(random());  // NaN with payloads, infinities, denormals: all of them
    if (type == DType::boolean)
      for (std::byte& byte : bytes) byte &= std::byte{1};
    if (type == DType::f32)
      for (std::size_t i = 0; i < most; i += 2) {  // ordinary numbers too
        const float value = std::ldexp(static_cast<float>(random()), -static_cast<int>(random() % 50));
        std::memcpy(bytes.data() + i * 4, &value, 4);
      }
  }
  const std::size_t width = size_of(kernel.result);
  std::vector<std::byte> alone(most * width);
  for (std::size_t i = 0; i < most; ++i) {
    for (std::size_t a = 0; a < in.size(); ++a) from[a] = in[a].data() + i * size_of(kernel.operands[a]);
    kernel.fn(from, alone.data() + i * width, 1);
  }
  for (std::size_t first = 0; first < 9; ++first) {
    for (std::size_t n = 0; n + first <= most; n += n < 70 ? 1 : 7) {
      std::vector<std::byte> out((n + 64) * width, std::byte{0xa5});
      for (std::size_t a = 0; a < in.size(); ++a) from[a] = in[a].data() + first * size_of(kernel.operands[a]);
      kernel.fn(from, out.data(), n);
      ASSERT_EQ(std::memcmp(out.data(), alone.data() + first * width, n * width), 0)
          << "at " << first << ", " << n << " elements";
      for (std::size_t i = n * width; i < out.size(); ++i) ASSERT_EQ(out[i], std::byte{0xa5}) << "beyond the end";
    }
  }
}

TEST(Kernels, AnElementsBitsDependOnItsOperandsAlone) {
  std::mt19937 random(11);
  for (int t = 0; t < dtype_count; ++t) {
    const auto type = static_cast<DType>(t);
    if (compute_type(type) != type) continue;
    for (int f = 0; f <= static_cast<int>(Unary::logical_not); ++f) {
      SCOPED_TRACE(::testing::Message() << "unary " << f << " of " << name_of(type));
      const TileKernel kernel = unary(static_cast<Unary>(f), type);
      if (kernel.fn) expect_position_independent(kernel, 1, random);
    }
    for (int f = 0; f <= static_cast<int>(Binary::logical_xor); ++f) {
      SCOPED_TRACE(::testing::Message() << "binary " << f << " of " << name_of(type));
      const TileKernel kernel = binary(static_cast<Binary>(f), type);
      if (kernel.fn) expect_position_independent(kernel, 2, random);
    }
  }
  for (int t = 0; t < dtype_count; ++t) {
    SCOPED_TRACE(::testing::Message() << "from " << name_of(static_cast<DType>(t)));
    expect_position_independent(select(static_cast<DType>(t)), 3, random);
    for (int to = 0; to < dtype_count; ++to) {
      SCOPED_TRACE(::testing::Message() << "to " << name_of(static_cast<DType>(to)));
      expect_position_independent(convert(static_cast<DType>(t), static_cast<DType>(to)), 1, random);
    }
  }
}

}  // namespace
}  // namespace regrow::kernels
