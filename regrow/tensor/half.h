// SPDX-License-Identifier: Apache-2.0
// The two 16-bit floating types as storage: conversion to and from f32, rounding to nearest even (IEEE 754; bfloat16 likewise). Any thread.
#pragma once

#include <bit>
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

}  // namespace regrow
