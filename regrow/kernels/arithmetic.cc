// SPDX-License-Identifier: Apache-2.0
// Arithmetic that is exact or correctly rounded: any order of instructions gives the same bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "regrow/kernels/arithmetic.cc"
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

// Unsigned and wide enough that neither promotion nor overflow is undefined.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

struct Add {
  template <class T>
  static T scalar(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  }
  template <class D, class V>
  static HWY_INLINE V vector(D, V a, V b) {
    return hn::Add(a, b);
  }
};

struct Subtract {
  template <class T>
  static T scalar(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
  }
  template <class D, class V>
  static HWY_INLINE V vector(D, V a, V b) {
    return hn::Sub(a, b);
  }
};

struct Multiply {
  template <class T>
  static T scalar(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  }
  template <class D, class V>
  static HWY_INLINE V vector(D, V a, V b) {
    return hn::Mul(a, b);
  }
};

struct Divide {
  template <class D, class V>
  static HWY_INLINE V vector(D, V a, V b) {
    return hn::Div(a, b);
  }
};

// NaN in either operand gives NaN; of equal ones (+0 and -0) the first.
struct Maximum {
  template <class T>
  static T scalar(T a, T b) {
    return a >= b ? a : b;
  }
  template <class D, class V>
  static HWY_INLINE V vector(D, V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Ge(a, b), hn::IsNaN(a)), a, b);
  }
};

struct Minimum {
  template <class T>
  static T scalar(T a, T b) {
    return a <= b ? a : b;
  }
  template <class D, class V>
  static HWY_INLINE V vector(D, V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Le(a, b), hn::IsNaN(a)), a, b);
  }
};

struct BitOr {
  template <class T>
  static T scalar(T a, T b) {
    return a | b;
  }
};

struct BitAnd {
  template <class T>
  static T scalar(T a, T b) {
    return a & b;
  }
};

// The pair (quotient rounded down, remainder with the divisor's sign), as Python's divmod and NumPy's.
template <class T>
struct Division {
  T quotient, remainder;
};

template <class T>
Division<T> divide_floor(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    T rest = std::fmod(a, b);
    if (b == 0) return {a / b, rest};
    T quotient = (a - rest) / b;
    if (rest != 0) {
      if ((b < 0) != (rest < 0)) rest += b, quotient -= 1;
    } else {
      rest = std::copysign(T{0}, b);
    }
    if (quotient != 0) {
      T whole = std::floor(quotient);
      if (quotient - whole > T{0.5}) whole += 1;
      return {whole, rest};
    }
    return {std::copysign(T{0}, a / b), rest};
  } else if constexpr (std::is_signed_v<T>) {
    if (b == 0) return {0, 0};
    if (b == -1) return {Subtract::scalar<T>(0, a), 0};
    const T quotient = static_cast<T>(a / b), rest = static_cast<T>(a % b);
    if (rest != 0 && (rest < 0) != (b < 0)) return {static_cast<T>(quotient - 1), static_cast<T>(rest + b)};
    return {quotient, rest};
  } else {
    if (b == 0) return {0, 0};
    return {static_cast<T>(a / b), static_cast<T>(a % b)};
  }
}

struct FloorDivide {
  template <class T>
  static T scalar(T a, T b) {
    return divide_floor(a, b).quotient;
  }
};

struct Remainder {
  template <class T>
  static T scalar(T a, T b) {
    return divide_floor(a, b).remainder;
  }
};

// Integers wrap; a negative exponent gives the truncated reciprocal: 0, or of 1 and -1 a power of themselves.
struct Power {
  template <class T>
  static T scalar(T base, T exponent) {
    if constexpr (std::is_floating_point_v<T>) {
      if (exponent == 2) return base * base;
      return std::pow(base, exponent);
    } else {
      if constexpr (std::is_signed_v<T>) {
        if (exponent < 0) {
          if (base == 1 || base == -1) return base == 1 || exponent % 2 == 0 ? T{1} : T{-1};
          return 0;
        }
      }
      Wrapping<T> result = 1, factor = static_cast<Wrapping<T>>(base);
      for (auto rest = static_cast<std::make_unsigned_t<T>>(exponent); rest != 0; rest = rest >> 1) {
        if (rest & 1) result *= factor;
        factor *= factor;
      }
      return static_cast<T>(result);
    }
  }
};

struct ReluGradient {
  template <class D, class V>
  static HWY_INLINE V vector(D d, V grad, V out) {
    return hn::IfThenElseZero(hn::Gt(out, hn::Zero(d)), grad);
  }
};

struct TanhGradient {
  template <class D, class V>
  static HWY_INLINE V vector(D d, V grad, V out) {
    return hn::Mul(grad, hn::Sub(hn::Set(d, 1), hn::Mul(out, out)));
  }
};

struct SigmoidGradient {
  template <class D, class V>
  static HWY_INLINE V vector(D d, V grad, V out) {
    return hn::Mul(grad, hn::Mul(out, hn::Sub(hn::Set(d, 1), out)));
  }
};

// Where nothing flows back, nothing flows on: not 0/0 at the root of 0.
struct SqrtGradient {
  template <class D, class V>
  static HWY_INLINE V vector(D d, V grad, V out) {
    const V half = hn::Mul(grad, hn::Set(d, static_cast<hn::TFromD<D>>(0.5)));
    return hn::IfThenElse(hn::Eq(grad, hn::Zero(d)), hn::Zero(d), hn::Div(half, out));
  }
};

struct Copy {
  template <class T>
  static T scalar(T a) {
    return a;
  }
};

struct Negative {
  template <class T>
  static T scalar(T a) {
    return Subtract::scalar<T>(0, a);
  }
  template <class D, class V>
  static HWY_INLINE V vector(D, V a) {
    return hn::Neg(a);
  }
};

struct Abs {
  template <class T>
  static T scalar(T a) {
    return a < 0 ? Negative::scalar(a) : a;
  }
  template <class D, class V>
  static HWY_INLINE V vector(D, V a) {
    return hn::Abs(a);
  }
};

struct Square {
  template <class T>
  static T scalar(T a) {
    return Multiply::scalar(a, a);
  }
  template <class D, class V>
  static HWY_INLINE V vector(D, V a) {
    return hn::Mul(a, a);
  }
};

struct Sign {
  template <class T>
  static T scalar(T a) {
    return static_cast<T>((a > 0) - (a < 0));
  }
  template <class D, class V>
  static HWY_INLINE V vector(D d, V a) {  // 0 for both zeros; NaN stays
    const V one = hn::CopySign(hn::Set(d, 1), a);
    return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenZeroElse(hn::Eq(a, hn::Zero(d)), one));
  }
};

struct Relu {
  template <class T>
  static T scalar(T a) {
    return a > 0 ? a : T{0};
  }
  template <class D, class V>
  static HWY_INLINE V vector(D d, V a) {  // +0 for -0; NaN stays
    return hn::IfThenZeroElse(hn::Le(a, hn::Zero(d)), a);
  }
};

struct Floor {
  template <class D, class V>
  static HWY_INLINE V vector(D, V a) {
    return hn::Floor(a);
  }
};

struct Ceil {
  template <class D, class V>
  static HWY_INLINE V vector(D, V a) {
    return hn::Ceil(a);
  }
};

struct Round {
  template <class D, class V>
  static HWY_INLINE V vector(D, V a) {
    return hn::Round(a);
  }
};

struct Trunc {
  template <class D, class V>
  static HWY_INLINE V vector(D, V a) {
    return hn::Trunc(a);
  }
};

struct Sqrt {
  template <class D, class V>
  static HWY_INLINE V vector(D, V a) {
    return hn::Sqrt(a);
  }
};

struct Reciprocal {
  template <class D, class V>
  static HWY_INLINE V vector(D d, V a) {
    return hn::Div(hn::Set(d, 1), a);
  }
};

// Integers by width alone, where two's complement makes the sign irrelevant.
template <class F>
TileFn by_width1(DType type) {
  switch (size_of(type)) {
    case 1: return scalar_loop1<std::uint8_t, std::uint8_t, F>;
    case 2: return scalar_loop1<std::uint16_t, std::uint16_t, F>;
    case 4: return scalar_loop1<std::uint32_t, std::uint32_t, F>;
    default: return scalar_loop1<std::uint64_t, std::uint64_t, F>;
  }
}

template <class F>
TileFn by_width2(DType type) {
  switch (size_of(type)) {
    case 1: return scalar_loop2<std::uint8_t, std::uint8_t, F>;
    case 2: return scalar_loop2<std::uint16_t, std::uint16_t, F>;
    case 4: return scalar_loop2<std::uint32_t, std::uint32_t, F>;
    default: return scalar_loop2<std::uint64_t, std::uint64_t, F>;
  }
}

template <class F>
TileFn by_type1(DType type) {
  switch (type) {
    case DType::i8: return scalar_loop1<std::int8_t, std::int8_t, F>;
    case DType::i16: return scalar_loop1<std::int16_t, std::int16_t, F>;
    case DType::i32: return scalar_loop1<std::int32_t, std::int32_t, F>;
    case DType::i64: return scalar_loop1<std::int64_t, std::int64_t, F>;
    default: return by_width1<F>(type);
  }
}

template <class F>
TileFn by_type2(DType type) {
  switch (type) {
    case DType::i8: return scalar_loop2<std::int8_t, std::int8_t, F>;
    case DType::i16: return scalar_loop2<std::int16_t, std::int16_t, F>;
    case DType::i32: return scalar_loop2<std::int32_t, std::int32_t, F>;
    case DType::i64: return scalar_loop2<std::int64_t, std::int64_t, F>;
    default: return by_width2<F>(type);
  }
}

template <class F>
TileFn floating1(DType type) {
  return type == DType::f32 ? vector_loop1<float, F> : type == DType::f64 ? vector_loop1<double, F> : nullptr;
}

template <class F>
TileFn floating2(DType type) {
  return type == DType::f32 ? vector_loop2<float, F> : type == DType::f64 ? vector_loop2<double, F> : nullptr;
}

template <class F>
TileFn one_by_one(DType type) {
  if (type == DType::f32) return scalar_loop2<float, float, F>;
  if (type == DType::f64) return scalar_loop2<double, double, F>;
  return by_type2<F>(type);
}

TileFn boolean_function(Binary f) {
  switch (f) {
    case Binary::add:
    case Binary::maximum: return by_width2<BitOr>(DType::boolean);
    case Binary::multiply:
    case Binary::minimum: return by_width2<BitAnd>(DType::boolean);
    default: return nullptr;
  }
}

TileFn binary_function(Binary f, DType type) {
  if (type == DType::boolean) return boolean_function(f);
  const bool floating = is_floating(type);
  switch (f) {
    case Binary::add: return floating ? floating2<Add>(type) : by_width2<Add>(type);
    case Binary::subtract: return floating ? floating2<Subtract>(type) : by_width2<Subtract>(type);
    case Binary::multiply: return floating ? floating2<Multiply>(type) : by_width2<Multiply>(type);
    case Binary::maximum: return floating ? floating2<Maximum>(type) : by_type2<Maximum>(type);
    case Binary::minimum: return floating ? floating2<Minimum>(type) : by_type2<Minimum>(type);
    case Binary::floor_divide: return one_by_one<FloorDivide>(type);
    case Binary::remainder: return one_by_one<Remainder>(type);
    case Binary::power: return one_by_one<Power>(type);
    case Binary::divide: return floating2<Divide>(type);
    case Binary::relu_gradient: return floating2<ReluGradient>(type);
    case Binary::tanh_gradient: return floating2<TanhGradient>(type);
    case Binary::sigmoid_gradient: return floating2<SigmoidGradient>(type);
    case Binary::sqrt_gradient: return floating2<SqrtGradient>(type);
    default: return nullptr;
  }
}

TileFn unary_function(Unary f, DType type) {
  if (type == DType::boolean) return nullptr;
  const bool floating = is_floating(type);
  switch (f) {
    case Unary::negative: return floating ? floating1<Negative>(type) : by_width1<Negative>(type);
    case Unary::abs: return floating ? floating1<Abs>(type) : is_signed(type) ? by_type1<Abs>(type) : by_width1<Copy>(type);
    case Unary::square: return floating ? floating1<Square>(type) : by_width1<Square>(type);
    case Unary::sign: return floating ? floating1<Sign>(type) : by_type1<Sign>(type);
    case Unary::relu: return floating ? floating1<Relu>(type) : by_type1<Relu>(type);
    case Unary::floor: return floating ? floating1<Floor>(type) : by_width1<Copy>(type);
    case Unary::ceil: return floating ? floating1<Ceil>(type) : by_width1<Copy>(type);
    case Unary::round: return floating ? floating1<Round>(type) : by_width1<Copy>(type);
    case Unary::trunc: return floating ? floating1<Trunc>(type) : by_width1<Copy>(type);
    case Unary::sqrt: return floating1<Sqrt>(type);
    case Unary::reciprocal: return floating1<Reciprocal>(type);
    default: return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace regrow::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace regrow::kernels {

HWY_EXPORT(unary_function);
HWY_EXPORT(binary_function);

TileFn find_arithmetic(Unary f, DType type) { return HWY_DYNAMIC_DISPATCH(unary_function)(f, type); }
TileFn find_arithmetic(Binary f, DType type) { return HWY_DYNAMIC_DISPATCH(binary_function)(f, type); }

}  // namespace regrow::kernels
#endif  // HWY_ONCE
