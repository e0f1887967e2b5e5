// SPDX-License-Identifier: Apache-2.0
// Predicates, logic on them, and choice by them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "regrow/kernels/comparison.cc"
#include "regrow/kernels/targets.inc"

#include "hwy/foreach_target.h"  // must come before highway.h

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "hwy/highway.h"
#include "regrow/kernels/kernel_tables.h"
#include "regrow/kernels/simd_loop.inc"

HWY_BEFORE_NAMESPACE();
namespace regrow::kernels {
namespace HWY_NAMESPACE {

struct Equal {
  template <class T>
  static std::uint8_t scalar(T a, T b) {
    return a == b;
  }
};

struct NotEqual {
  template <class T>
  static std::uint8_t scalar(T a, T b) {
    return a != b;
  }
};

struct Less {
  template <class T>
  static std::uint8_t scalar(T a, T b) {
    return a < b;
  }
};

struct LessEqual {
  template <class T>
  static std::uint8_t scalar(T a, T b) {
    return a <= b;
  }
};

struct Greater {
  template <class T>
  static std::uint8_t scalar(T a, T b) {
    return a > b;
  }
};

struct GreaterEqual {
  template <class T>
  static std::uint8_t scalar(T a, T b) {
    return a >= b;
  }
};

struct LogicalAnd {
  template <class T>
  static std::uint8_t scalar(T a, T b) {
    return (a != 0) & (b != 0);
  }
};

struct LogicalOr {
  template <class T>
  static std::uint8_t scalar(T a, T b) {
    return (a != 0) | (b != 0);
  }
};

struct LogicalXor {
  template <class T>
  static std::uint8_t scalar(T a, T b) {
    return (a != 0) ^ (b != 0);
  }
};

struct LogicalNot {
  template <class T>
  static std::uint8_t scalar(T a) {
    return a == 0;
  }
};

struct IsNan {
  template <class T>
  static std::uint8_t scalar(T a) {
    return a != a;
  }
};

struct IsInf {
  template <class T>
  static std::uint8_t scalar(T a) {
    if constexpr (std::is_floating_point_v<T>) return std::fabs(a) > std::numeric_limits<T>::max();
    return 0;
  }
};

struct IsFinite {
  template <class T>
  static std::uint8_t scalar(T a) {
    if constexpr (std::is_floating_point_v<T>) return std::fabs(a) <= std::numeric_limits<T>::max();
    return 1;
  }
};

template <class F>
TileFn compare(DType type) {
  switch (type) {
    case DType::boolean:
    case DType::u8: return scalar_loop2<std::uint8_t, std::uint8_t, F>;
    case DType::i8: return scalar_loop2<std::int8_t, std::uint8_t, F>;
    case DType::i16: return scalar_loop2<std::int16_t, std::uint8_t, F>;
    case DType::i32: return scalar_loop2<std::int32_t, std::uint8_t, F>;
    case DType::i64: return scalar_loop2<std::int64_t, std::uint8_t, F>;
    case DType::u16: return scalar_loop2<std::uint16_t, std::uint8_t, F>;
    case DType::u32: return scalar_loop2<std::uint32_t, std::uint8_t, F>;
    case DType::u64: return scalar_loop2<std::uint64_t, std::uint8_t, F>;
    case DType::f32: return scalar_loop2<float, std::uint8_t, F>;
    case DType::f64: return scalar_loop2<double, std::uint8_t, F>;
    default: return nullptr;
  }
}

// Functions in which the sign of an integer does not matter.
template <class F>
TileFn compare_bits(DType type) {
  switch (type) {
    case DType::i8: return compare<F>(DType::u8);
    case DType::i16: return compare<F>(DType::u16);
    case DType::i32: return compare<F>(DType::u32);
    case DType::i64: return compare<F>(DType::u64);
    default: return compare<F>(type);
  }
}

template <class F>
TileFn classify(DType type) {
  if (type == DType::f32) return scalar_loop1<float, std::uint8_t, F>;
  if (type == DType::f64) return scalar_loop1<double, std::uint8_t, F>;
  switch (size_of(type)) {
    case 1: return scalar_loop1<std::uint8_t, std::uint8_t, F>;
    case 2: return scalar_loop1<std::uint16_t, std::uint8_t, F>;
    case 4: return scalar_loop1<std::uint32_t, std::uint8_t, F>;
    default: return scalar_loop1<std::uint64_t, std::uint8_t, F>;
  }
}

TileFn comparison_function(Binary f, DType type) {
  switch (f) {
    case Binary::equal: return compare_bits<Equal>(type);
    case Binary::not_equal: return compare_bits<NotEqual>(type);
    case Binary::less: return compare<Less>(type);
    case Binary::less_equal: return compare<LessEqual>(type);
    case Binary::greater: return compare<Greater>(type);
    case Binary::greater_equal: return compare<GreaterEqual>(type);
    case Binary::logical_and: return compare_bits<LogicalAnd>(type);
    case Binary::logical_or: return compare_bits<LogicalOr>(type);
    case Binary::logical_xor: return compare_bits<LogicalXor>(type);
    default: return nullptr;
  }
}

TileFn classification_function(Unary f, DType type) {
  switch (f) {
    case Unary::is_nan: return classify<IsNan>(type);
    case Unary::is_inf: return classify<IsInf>(type);
    case Unary::is_finite: return classify<IsFinite>(type);
    case Unary::logical_not: return classify<LogicalNot>(type);
    default: return nullptr;
  }
}

template <class T>
void select_loop(const void* const* in, void* out, std::size_t n) {
  const auto* condition = static_cast<const std::uint8_t*>(in[0]);
  const T *a = static_cast<const T*>(in[1]), *b = static_cast<const T*>(in[2]);
  T* to = static_cast<T*>(out);
  REGROW_NO_CARRIED_DEPENDENCE
  for (std::size_t i = 0; i < n; ++i) {
    const T yes = a[i], no = b[i];
    to[i] = condition[i] != 0 ? yes : no;
  }
}

TileFn select_function(std::size_t element_size) {
  switch (element_size) {
    case 1: return select_loop<std::uint8_t>;
    case 2: return select_loop<std::uint16_t>;
    case 4: return select_loop<std::uint32_t>;
    default: return select_loop<std::uint64_t>;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace regrow::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace regrow::kernels {

HWY_EXPORT(comparison_function);
HWY_EXPORT(classification_function);
HWY_EXPORT(select_function);

TileFn find_comparison(Binary f, DType type) { return HWY_DYNAMIC_DISPATCH(comparison_function)(f, type); }
TileFn find_classification(Unary f, DType type) { return HWY_DYNAMIC_DISPATCH(classification_function)(f, type); }
TileFn find_select(std::size_t element_size) { return HWY_DYNAMIC_DISPATCH(select_function)(element_size); }

}  // namespace regrow::kernels
#endif  // HWY_ONCE
