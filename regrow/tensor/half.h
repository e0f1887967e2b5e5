// SPDX-License-Identifier: Apache-2.0
// The two 16-bit floating types as storage: conversion to and from f32, rounding to nearest even (IEEE 754; bfloat16 likewise).
// Any thread.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace regrow {

struct Half {
  std::uint16_t bits = 0;

  Half() = default;
  explicit Half(float value) noexcept;
  explicit operator float() const noexcept;
  friend bool operator==(Half, Half) = default;  // of bits
};

struct BFloat16 {
  std::uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value) noexcept {
    const auto u = std::bit_cast<std::uint32_t>(value);
    const bool nan = (u & 0x7fffffffu) > 0x7f800000u;
    bits = static_cast<std::uint16_t>(nan ? (u >> 16) | 0x40u : (u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  }
  explicit operator float() const noexcept { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
  friend bool operator==(BFloat16, BFloat16) = default;
};

// The float nearest to `value` toward zero, its last bit set if that was inexact ("round to odd"): rounding it again, to a type
// with at least two bits less, is as good as rounding once. (Boldo and Melquiond, 2008.)
inline float round_to_odd(double value) noexcept {
  const auto rounded = static_cast<float>(value);
  if (static_cast<double>(rounded) == value || value != value) return rounded;
  auto bits = std::bit_cast<std::uint32_t>(rounded);
  if ((bits & 1) == 0) bits += std::fabs(static_cast<double>(rounded)) > std::fabs(value) ? 0xffffffffu : 1u;
  return std::bit_cast<float>(bits);
}

}  // namespace regrow
