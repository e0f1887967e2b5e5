// SPDX-License-Identifier: Apache-2.0
// Between element types as C++ has them, and from a dtype that is floating, or an integer, to f(T{}) (for any: visit.h). Any
// thread.
#pragma once

#include <cstdint>
#include <type_traits>

#include "regrow/tensor/dtype.h"
#include "regrow/tensor/half.h"

namespace regrow::kernels {

// What a floating type computes in.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T>
inline constexpr bool is_short_float = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// The value as To, rounded to nearest even where To is a narrower floating type, truncated where it is an integer.
template <class To, class From>
To as(From value) {
  if constexpr (std::is_same_v<To, From>) return value;
  else if constexpr (is_short_float<From>) return as<To>(static_cast<float>(value));
  else if constexpr (is_short_float<To>) return To(static_cast<float>(value));
  else return static_cast<To>(value);
}

template <class F>
void with_float(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f16:
      return f(Half{});
    case DType::bf16:
      return f(BFloat16{});
    case DType::f32:
      return f(float{});
    default:
      return f(double{});
  }
}

template <class F>
void with_integer(DType dtype, F&& f) {
  switch (dtype) {
    case DType::i8:
      return f(std::int8_t{});
    case DType::i16:
      return f(std::int16_t{});
    case DType::i32:
      return f(std::int32_t{});
    case DType::u8:
      return f(std::uint8_t{});
    case DType::u16:
      return f(std::uint16_t{});
    case DType::u32:
      return f(std::uint32_t{});
    case DType::u64:
      return f(std::uint64_t{});
    default:
      return f(std::int64_t{});
  }
}

}  // namespace regrow::kernels
