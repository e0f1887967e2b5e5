// SPDX-License-Identifier: Apache-2.0
// The 16-bit floating types against their definition: every value of each, and every place where rounding turns.
#include "regrow/tensor/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace regrow {
namespace {

// (-1)^sign * fraction * 2^exponent, as IEEE 754 defines binary16 (5, 10) and as bfloat16 is laid out (8, 7).
double defined(std::uint32_t bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const std::uint32_t fraction = bits & ((1u << fraction_bits) - 1);
  const int exponent = static_cast<int>(bits >> fraction_bits & ((1u << exponent_bits) - 1));
  const double sign = bits >> 15 != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  const double significand = exponent == 0 ? fraction : fraction + (1u << fraction_bits);
  return sign * std::ldexp(significand, std::max(exponent, 1) - bias - fraction_bits);
}

template <class Short>
void check_every_value(int exponent_bits, int fraction_bits) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    Short value;
    value.bits = static_cast<std::uint16_t>(bits);
    const auto wide = static_cast<float>(value);
    const double expected = defined(bits, exponent_bits, fraction_bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(wide)) << bits;
      ASSERT_TRUE(std::isnan(static_cast<float>(Short(wide)))) << bits;
      ASSERT_EQ(Short(wide).bits >> 15, bits >> 15) << "the sign of a NaN stays";
    } else {
      ASSERT_EQ(static_cast<double>(wide), expected) << bits;
      ASSERT_EQ(std::signbit(wide), std::signbit(expected)) << bits;
      ASSERT_EQ(Short(wide).bits, bits) << "a value that fits is not rounded";
    }
  }
}

// Between two neighbours: up to the middle one, beyond it the other, in the middle the even one. Conversion being monotonic in
// between, this is every float.
template <class Short>
void check_every_turn(std::uint32_t largest, double beyond) {
  for (std::uint32_t bits = 0; bits <= largest; ++bits) {
    Short low, high;
    low.bits = static_cast<std::uint16_t>(bits), high.bits = static_cast<std::uint16_t>(bits + 1);
    const double next = bits == largest ? beyond : static_cast<double>(static_cast<float>(high));
    const auto middle = static_cast<float>((static_cast<double>(static_cast<float>(low)) + next) / 2);
    const float below = std::nextafter(middle, 0.0f), above = std::nextafter(middle, std::numeric_limits<float>::infinity());
    const std::uint16_t even = bits % 2 == 0 ? low.bits : high.bits;
    ASSERT_EQ(Short(middle).bits, even) << bits;
    ASSERT_EQ(Short(-middle).bits, even | 0x8000) << bits;
    ASSERT_EQ(Short(below).bits, low.bits) << bits;
    ASSERT_EQ(Short(above).bits, high.bits) << bits;
  }
}

TEST(Half, ConvertsEveryValue) { check_every_value<Half>(5, 10); }
TEST(BFloat16, ConvertsEveryValue) { check_every_value<BFloat16>(8, 7); }

TEST(Half, RoundsToNearestEvenEverywhere) { check_every_turn<Half>(0x7bff, 65536); }
TEST(BFloat16, RoundsToNearestEvenEverywhere) { check_every_turn<BFloat16>(0x7f7e, 0x1.fep127); }

TEST(Half, OverflowsToInfinity) {
  EXPECT_EQ(Half(65519.99f).bits, 0x7bff);
  EXPECT_EQ(Half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Half(-1e30f).bits, 0xfc00);
  EXPECT_EQ(Half(std::numeric_limits<float>::infinity()).bits, 0x7c00);
}

TEST(BFloat16, OverflowsToInfinity) {
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(BFloat16(-std::numeric_limits<float>::infinity()).bits, 0xff80);
  EXPECT_EQ(BFloat16(std::bit_cast<float>(0x7f7f7fffu)).bits, 0x7f7f);  // just below the middle of the largest and infinity
  EXPECT_EQ(BFloat16(std::bit_cast<float>(0x7f7f8000u)).bits, 0x7f80);
}

TEST(Half, KeepsTheSmallestAndFlushesBelowItsHalf) {
  EXPECT_EQ(Half(0x1p-24f).bits, 1);
  EXPECT_EQ(Half(0x1p-25f).bits, 0);  // the middle of 0 and the smallest: even
  EXPECT_EQ(Half(std::nextafter(0x1p-25f, 1.0f)).bits, 1);
  EXPECT_EQ(Half(-0.0f).bits, 0x8000);
  EXPECT_EQ(Half(-0x1p-30f).bits, 0x8000);
}

TEST(Narrowing, OfANaNWithOnlyLowPayloadBitsStaysNaN) {
  const float nan = std::bit_cast<float>(0x7f800001u);
  EXPECT_TRUE(std::isnan(static_cast<float>(Half(nan))));
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(nan))));
}

TEST(RoundToOdd, ThenRoundingIsRoundingOnce) {
  EXPECT_EQ(round_to_odd(1.0), 1.0f);
  EXPECT_EQ(round_to_odd(1 + 0x1p-40), std::nextafter(1.0f, 2.0f));
  EXPECT_EQ(round_to_odd(1 - 0x1p-40), std::nextafter(1.0f, 0.0f));
  EXPECT_EQ(round_to_odd(-1 - 0x1p-40), -std::nextafter(1.0f, 2.0f));
  EXPECT_TRUE(std::isnan(round_to_odd(std::nan(""))));
  EXPECT_EQ(Half(round_to_odd(1e300)).bits, 0x7c00);
}

}  // namespace
}  // namespace regrow
