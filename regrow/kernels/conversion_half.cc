// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/conversion_half.h"

#include "regrow/kernels/rounding.h"

namespace regrow::kernels {
namespace {

template <class Small, class To>
void widen_loop(const void* const* in, void* out, std::size_t n) {
  const auto* from = static_cast<const Small*>(in[0]);
  auto* to = static_cast<To*>(out);
  for (std::size_t i = 0; i < n; ++i) {
    const auto value = static_cast<float>(from[i]);
    if constexpr (std::is_same_v<To, bool>)
      to[i] = value != 0;
    else if constexpr (std::is_integral_v<To>)
      to[i] = saturate<To>(value);
    else
      to[i] = static_cast<To>(value);
  }
}

template <class From, class Small>
void narrow_loop(const void* const* in, void* out, std::size_t n) {
  const auto* from = static_cast<const From*>(in[0]);
  auto* to = static_cast<Small*>(out);
  for (std::size_t i = 0; i < n; ++i) to[i] = narrow<Small>(from[i]);
}

template <class Small, class Other>
void resize_loop(const void* const* in, void* out, std::size_t n) {
  const auto* from = static_cast<const Small*>(in[0]);
  auto* to = static_cast<Other*>(out);
  for (std::size_t i = 0; i < n; ++i) to[i] = Other(static_cast<float>(from[i]));
}

template <class Small>
TileFn from_small(DType to) {
  switch (to) {
    case DType::boolean: return widen_loop<Small, bool>;
    case DType::i8: return widen_loop<Small, std::int8_t>;
    case DType::i16: return widen_loop<Small, std::int16_t>;
    case DType::i32: return widen_loop<Small, std::int32_t>;
    case DType::i64: return widen_loop<Small, std::int64_t>;
    case DType::u8: return widen_loop<Small, std::uint8_t>;
    case DType::u16: return widen_loop<Small, std::uint16_t>;
    case DType::u32: return widen_loop<Small, std::uint32_t>;
    case DType::u64: return widen_loop<Small, std::uint64_t>;
    case DType::f64: return widen_loop<Small, double>;
    case DType::f16: return resize_loop<Small, Half>;
    case DType::bf16: return resize_loop<Small, BFloat16>;
    default: return nullptr;
  }
}

template <class Small>
TileFn to_small(DType from) {
  switch (from) {
    case DType::boolean: return narrow_loop<std::uint8_t, Small>;
    case DType::i8: return narrow_loop<std::int8_t, Small>;
    case DType::i16: return narrow_loop<std::int16_t, Small>;
    case DType::i32: return narrow_loop<std::int32_t, Small>;
    case DType::i64: return narrow_loop<std::int64_t, Small>;
    case DType::u8: return narrow_loop<std::uint8_t, Small>;
    case DType::u16: return narrow_loop<std::uint16_t, Small>;
    case DType::u32: return narrow_loop<std::uint32_t, Small>;
    case DType::u64: return narrow_loop<std::uint64_t, Small>;
    case DType::f64: return narrow_loop<double, Small>;
    default: return nullptr;
  }
}

}  // namespace

TileFn find_half_conversion(DType from, DType to) {
  if (from == DType::f16) return from_small<Half>(to);
  if (from == DType::bf16) return from_small<BFloat16>(to);
  if (to == DType::f16) return to_small<Half>(from);
  if (to == DType::bf16) return to_small<BFloat16>(from);
  return nullptr;
}

}  // namespace regrow::kernels
