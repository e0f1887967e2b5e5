// SPDX-License-Identifier: Apache-2.0
// Conversion between element types other than those that conversion_half.cc has.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "regrow/kernels/conversion.cc"
#include "regrow/kernels/targets.inc"

#include "hwy/foreach_target.h"  // must come before highway.h

#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "regrow/kernels/conversion_half.h"
#include "regrow/kernels/kernel_tables.h"
#include "regrow/kernels/rounding.h"
#include "regrow/kernels/simd_loop.inc"

HWY_BEFORE_NAMESPACE();
namespace regrow::kernels {
namespace HWY_NAMESPACE {

template <class To>
struct Cast {
  template <class From>
  static To scalar(From a) {
    if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>)
      return saturate<To>(a);
    else
      return static_cast<To>(a);
  }
};

struct ToBoolean {
  template <class From>
  static std::uint8_t scalar(From a) {
    return a != 0;
  }
};

struct ToBFloat16 {
  template <class From>
  static std::uint16_t scalar(From a) {
    return BFloat16(a).bits;
  }
};

struct FromBFloat16 {
  template <class From>
  static std::uint32_t scalar(From a) {
    return static_cast<std::uint32_t>(a) << 16;
  }
};

#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
struct ToHalf {
  template <class From>
  static std::uint16_t scalar(From a) {
    return Half(a).bits;
  }
};

struct FromHalf {
  template <class From>
  static std::uint32_t scalar(From a) {
    Half half;
    half.bits = a;
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(half));
    return (bits & 0x7fffffffu) > 0x7f800000u ? bits | 0x400000u : bits;  // quiet, as the instruction gives it
  }
};

constexpr TileFn to_half = scalar_loop1<float, std::uint16_t, ToHalf>;
constexpr TileFn from_half = scalar_loop1<std::uint16_t, std::uint32_t, FromHalf>;
#else
using F32 = hn::ScalableTag<float>;
using F16 = hn::Rebind<hwy::float16_t, F32>;
using U16 = hn::Rebind<std::uint16_t, F32>;

void to_half(const void* const* in, void* out, std::size_t n) {
  const std::size_t lanes = hn::Lanes(F32());
  const auto* from = static_cast<const float*>(in[0]);
  auto* to = static_cast<std::uint16_t*>(out);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::BitCast(U16(), hn::DemoteTo(F16(), hn::LoadU(F32(), from + i))), U16(), to + i);
  if (i < n) store_part(hn::BitCast(U16(), hn::DemoteTo(F16(), load_part(F32(), from + i, n - i))), U16(), to + i, n - i);
}

void from_half(const void* const* in, void* out, std::size_t n) {
  const std::size_t lanes = hn::Lanes(F32());
  const auto* from = static_cast<const std::uint16_t*>(in[0]);
  auto* to = static_cast<float*>(out);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::PromoteTo(F32(), hn::BitCast(F16(), hn::LoadU(U16(), from + i))), F32(), to + i);
  if (i < n) store_part(hn::PromoteTo(F32(), hn::BitCast(F16(), load_part(U16(), from + i, n - i))), F32(), to + i, n - i);
}
#endif

template <class From>
TileFn to_bits(std::size_t size) {
  switch (size) {
    case 1: return scalar_loop1<From, std::uint8_t, Cast<std::uint8_t>>;
    case 2: return scalar_loop1<From, std::uint16_t, Cast<std::uint16_t>>;
    case 4: return scalar_loop1<From, std::uint32_t, Cast<std::uint32_t>>;
    default: return scalar_loop1<From, std::uint64_t, Cast<std::uint64_t>>;
  }
}

template <class From>
TileFn from_integer(DType to) {
  if (to == DType::boolean) return scalar_loop1<From, std::uint8_t, ToBoolean>;
  if (to == DType::f32) return scalar_loop1<From, float, Cast<float>>;
  if (to == DType::f64) return scalar_loop1<From, double, Cast<double>>;
  return to_bits<From>(size_of(to));
}

template <class From>
TileFn from_floating(DType to) {
  switch (to) {
    case DType::boolean: return scalar_loop1<From, std::uint8_t, ToBoolean>;
    case DType::i8: return scalar_loop1<From, std::int8_t, Cast<std::int8_t>>;
    case DType::i16: return scalar_loop1<From, std::int16_t, Cast<std::int16_t>>;
    case DType::i32: return scalar_loop1<From, std::int32_t, Cast<std::int32_t>>;
    case DType::i64: return scalar_loop1<From, std::int64_t, Cast<std::int64_t>>;
    case DType::u8: return scalar_loop1<From, std::uint8_t, Cast<std::uint8_t>>;
    case DType::u16: return scalar_loop1<From, std::uint16_t, Cast<std::uint16_t>>;
    case DType::u32: return scalar_loop1<From, std::uint32_t, Cast<std::uint32_t>>;
    case DType::u64: return scalar_loop1<From, std::uint64_t, Cast<std::uint64_t>>;
    case DType::f32: return scalar_loop1<From, float, Cast<float>>;
    default: return scalar_loop1<From, double, Cast<double>>;
  }
}

TileFn copy_bits(std::size_t size) {
  switch (size) {
    case 1: return to_bits<std::uint8_t>(1);
    case 2: return to_bits<std::uint16_t>(2);
    case 4: return to_bits<std::uint32_t>(4);
    default: return to_bits<std::uint64_t>(8);
  }
}

TileFn conversion_function(DType from, DType to) {
  if (from == to || (is_integer(from) && is_integer(to) && size_of(from) == size_of(to))) return copy_bits(size_of(to));
  if (from == DType::f32 && to == DType::bf16) return scalar_loop1<float, std::uint16_t, ToBFloat16>;
  if (from == DType::bf16 && to == DType::f32) return scalar_loop1<std::uint16_t, std::uint32_t, FromBFloat16>;
  if (from == DType::f32 && to == DType::f16) return to_half;
  if (from == DType::f16 && to == DType::f32) return from_half;
  if (TileFn fn = find_half_conversion(from, to)) return fn;
  switch (from) {
    case DType::boolean:
    case DType::u8: return from_integer<std::uint8_t>(to);
    case DType::i8: return from_integer<std::int8_t>(to);
    case DType::i16: return from_integer<std::int16_t>(to);
    case DType::i32: return from_integer<std::int32_t>(to);
    case DType::i64: return from_integer<std::int64_t>(to);
    case DType::u16: return from_integer<std::uint16_t>(to);
    case DType::u32: return from_integer<std::uint32_t>(to);
    case DType::u64: return from_integer<std::uint64_t>(to);
    case DType::f32: return from_floating<float>(to);
    default: return from_floating<double>(to);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace regrow::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace regrow::kernels {

HWY_EXPORT(conversion_function);

TileFn find_conversion(DType from, DType to) { return HWY_DYNAMIC_DISPATCH(conversion_function)(from, to); }

}  // namespace regrow::kernels
#endif  // HWY_ONCE
