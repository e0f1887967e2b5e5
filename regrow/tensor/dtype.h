// SPDX-License-Identifier: Apache-2.0
// The 13 element types, their promotion, and weak scalars (Python array API standard 2022.12, "Type promotion rules"). Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace regrow {

struct Half;
struct BFloat16;

enum class DType : std::uint8_t { boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64 };
inline constexpr int dtype_count = 13;

std::string_view name_of(DType dtype) noexcept;    // "bool", "i8", … "f64"
DType dtype_named(std::string_view name);          // throws Error on an unknown name
std::size_t size_of(DType dtype) noexcept;         // bytes an element
inline std::string to_string(DType dtype) { return std::string(name_of(dtype)); }

constexpr bool is_floating(DType d) noexcept { return d >= DType::f16; }
constexpr bool is_integer(DType d) noexcept { return d >= DType::i8 && d <= DType::u64; }
constexpr bool is_signed(DType d) noexcept { return (d >= DType::i8 && d <= DType::i64) || is_floating(d); }

// The type that holds both: the array API table; bool with anything is the other; an integer with a floating type is the floating
// type; i64 with u64 is f64 (as NumPy); f16 with bf16 is f32. Total and symmetric.
DType promote(DType a, DType b) noexcept;

// A literal: it takes the type of the tensor it meets, widening its kind only (an integer tensor plus 0.5 is f32).
struct Scalar {
  enum class Kind : std::uint8_t { boolean, integer, unsigned_integer, floating };

  Kind kind = Kind::integer;
  union {
    std::int64_t integer = 0;
    std::uint64_t unsigned_integer;
    double floating;
  };

  constexpr Scalar() = default;
  template <class T>
    requires std::is_arithmetic_v<T>
  constexpr Scalar(T value) {  // NOLINT: implicit, so that `a * 2` reads as it should
    if constexpr (std::is_same_v<T, bool>) {
      kind = Kind::boolean, integer = value;
    } else if constexpr (std::is_floating_point_v<T>) {
      kind = Kind::floating, floating = static_cast<double>(value);
    } else if constexpr (std::is_unsigned_v<T> && sizeof(T) == 8) {
      kind = Kind::unsigned_integer, unsigned_integer = value;
    } else {
      kind = Kind::integer, integer = static_cast<std::int64_t>(value);
    }
  }

  double as_double() const noexcept;
  DType default_dtype() const noexcept;  // bool, i64, u64, f64
  friend bool operator==(const Scalar& a, const Scalar& b) noexcept { return a.kind == b.kind && a.integer == b.integer; }
};

// The type of `tensor op literal`.
DType promote(DType tensor, const Scalar& literal) noexcept;
// Writes the literal as one element. Out-of-range integers throw Error; floating to integer truncates.
void write_scalar(const Scalar& value, DType dtype, void* element);
std::string to_string(const Scalar& value);

template <class T>
constexpr DType dtype_of() noexcept {
  if constexpr (std::is_same_v<T, bool>) return DType::boolean;
  else if constexpr (std::is_same_v<T, Half>) return DType::f16;
  else if constexpr (std::is_same_v<T, BFloat16>) return DType::bf16;
  else if constexpr (std::is_same_v<T, float>) return DType::f32;
  else if constexpr (std::is_same_v<T, double>) return DType::f64;
  else {
    static_assert(std::is_integral_v<T>, "not an element type");
    constexpr int width = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return static_cast<DType>(static_cast<int>(std::is_signed_v<T> ? DType::i8 : DType::u8) + width);
  }
}

}  // namespace regrow
