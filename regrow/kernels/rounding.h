// SPDX-License-Identifier: Apache-2.0
// Single conversions that C++ leaves undefined or would round twice. Pure functions. Any thread.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "regrow/tensor/half.h"

namespace regrow::kernels {

// Toward zero; beyond the range its nearest end; NaN gives 0. Without branches, so that loops of it vectorize.
template <class To, class From>
constexpr To saturate(From value) noexcept {
  constexpr int digits = std::numeric_limits<To>::digits;
  constexpr From end = static_cast<From>(To{1} << (digits - 1)) * 2;  // one past the largest; exact
  constexpr From low = static_cast<From>(std::numeric_limits<To>::min());
  constexpr From high =  // the largest value below `end`
      digits <= std::numeric_limits<From>::digits ? end - 1 : end - end * (std::numeric_limits<From>::epsilon() / 2);
  From inside = value > low ? value : low;
  inside = inside < high ? inside : high;
  To result = static_cast<To>(inside);
  result = value >= end ? std::numeric_limits<To>::max() : result;
  return value == value ? result : To{0};
}

// An integer as a double whose rounding, if there was any, is to odd.
template <class T>
double odd_double(T value) noexcept {
  if constexpr (sizeof(T) < 8) {
    return static_cast<double>(value);
  } else {
    const bool negative = std::is_signed_v<T> && value < 0;
    const std::uint64_t magnitude =
        negative ? std::uint64_t{0} - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    const double result = magnitude < (std::uint64_t{1} << 53)
                              ? static_cast<double>(magnitude)
                              : static_cast<double>((magnitude >> 11) | ((magnitude & 0x7ff) != 0 ? 1u : 0u)) * 2048.0;
    return negative ? -result : result;
  }
}

// Half or BFloat16 of any number, rounded once.
template <class Small, class From>
Small narrow(From value) noexcept {
  if constexpr (std::is_same_v<From, float>)
    return Small(value);
  else if constexpr (std::is_same_v<From, double>)
    return Small(round_to_odd(value));
  else
    return Small(round_to_odd(odd_double(value)));
}

}  // namespace regrow::kernels
