// SPDX-License-Identifier: Apache-2.0
#include "regrow/tensor/dtype.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "regrow/base/error.h"
#include "regrow/tensor/half.h"

namespace regrow {
namespace {

constexpr std::array<std::string_view, dtype_count> names = {"bool", "i8",  "i16", "i32",  "i64", "u8", "u16",
                                                             "u32",  "u64", "f16", "bf16", "f32", "f64"};
constexpr std::array<std::uint8_t, dtype_count> sizes = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};

DType promote_integers(DType a, DType b) noexcept {
  if (is_signed(a) == is_signed(b)) return std::max(a, b);
  const DType wide_signed = is_signed(a) ? a : b, wide_unsigned = is_signed(a) ? b : a;
  if (size_of(wide_signed) > size_of(wide_unsigned)) return wide_signed;
  switch (wide_unsigned) {
    case DType::u8: return DType::i16;
    case DType::u16: return DType::i32;
    case DType::u32: return DType::i64;
    default: return DType::f64;
  }
}

template <class T>
void put(void* element, T value) {
  std::memcpy(element, &value, sizeof value);
}

template <class T>
T in_range(const Scalar& value) {
  const bool is_unsigned = value.kind == Scalar::Kind::unsigned_integer;
  if (value.kind == Scalar::Kind::floating) {
    // The bounds as doubles: max() may round up to one past the end, so compare with < there.
    constexpr double low = static_cast<double>(std::numeric_limits<T>::min());
    const double high = std::ldexp(1.0, std::numeric_limits<T>::digits);
    require(std::trunc(value.floating) >= low && value.floating < high, "{} does not fit in {}", value.floating, name_of(dtype_of<T>()));
    return static_cast<T>(value.floating);
  }
  const bool fits = is_unsigned ? std::in_range<T>(value.unsigned_integer) : std::in_range<T>(value.integer);
  require(fits, "{} does not fit in {}", to_string(value), name_of(dtype_of<T>()));
  return is_unsigned ? static_cast<T>(value.unsigned_integer) : static_cast<T>(value.integer);
}

}  // namespace

std::string_view name_of(DType dtype) noexcept { return names[static_cast<std::size_t>(dtype)]; }
std::size_t size_of(DType dtype) noexcept { return sizes[static_cast<std::size_t>(dtype)]; }

DType dtype_named(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<DType>(i);
  fail("no element type is named '{}'", name);
}

DType promote(DType a, DType b) noexcept {
  if (a == b) return a;
  if (a == DType::boolean) return b;
  if (b == DType::boolean) return a;
  if (is_floating(a) && is_floating(b)) {
    const bool both_short = size_of(a) == 2 && size_of(b) == 2;
    return both_short ? DType::f32 : std::max(a, b);
  }
  if (is_floating(a)) return a;
  if (is_floating(b)) return b;
  return promote_integers(a, b);
}

DType promote(DType tensor, const Scalar& literal) noexcept {
  switch (literal.kind) {
    case Scalar::Kind::boolean: return tensor;
    case Scalar::Kind::floating: return is_floating(tensor) ? tensor : DType::f32;
    default: return tensor == DType::boolean ? DType::i64 : tensor;
  }
}

double Scalar::as_double() const noexcept {
  switch (kind) {
    case Kind::floating: return floating;
    case Kind::unsigned_integer: return static_cast<double>(unsigned_integer);
    default: return static_cast<double>(integer);
  }
}

DType Scalar::default_dtype() const noexcept {
  switch (kind) {
    case Kind::boolean: return DType::boolean;
    case Kind::integer: return DType::i64;
    case Kind::unsigned_integer: return DType::u64;
    default: return DType::f64;
  }
}

void write_scalar(const Scalar& value, DType dtype, void* element) {
  switch (dtype) {
    case DType::boolean: return put(element, value.as_double() != 0);
    case DType::i8: return put(element, in_range<std::int8_t>(value));
    case DType::i16: return put(element, in_range<std::int16_t>(value));
    case DType::i32: return put(element, in_range<std::int32_t>(value));
    case DType::i64: return put(element, in_range<std::int64_t>(value));
    case DType::u8: return put(element, in_range<std::uint8_t>(value));
    case DType::u16: return put(element, in_range<std::uint16_t>(value));
    case DType::u32: return put(element, in_range<std::uint32_t>(value));
    case DType::u64: return put(element, in_range<std::uint64_t>(value));
    case DType::f16: return put(element, Half(round_to_odd(value.as_double())));
    case DType::bf16: return put(element, BFloat16(round_to_odd(value.as_double())));
    case DType::f32:
      if (value.kind == Scalar::Kind::integer) return put(element, static_cast<float>(value.integer));
      if (value.kind == Scalar::Kind::unsigned_integer) return put(element, static_cast<float>(value.unsigned_integer));
      return put(element, static_cast<float>(value.as_double()));
    case DType::f64: return put(element, value.as_double());
  }
}

std::string to_string(const Scalar& value) {
  switch (value.kind) {
    case Scalar::Kind::boolean: return value.integer != 0 ? "true" : "false";
    case Scalar::Kind::integer: return fmt::format("{}", value.integer);
    case Scalar::Kind::unsigned_integer: return fmt::format("{}", value.unsigned_integer);
    default: return fmt::format("{}", value.floating);
  }
}

}  // namespace regrow
