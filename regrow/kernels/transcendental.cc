// SPDX-License-Identifier: Apache-2.0
// Functions that are rounded, not exact. f32: Highway's vector functions with the special cases put right; errors are stated in
// tests/kernels. f64: the C library's, one at a time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "regrow/kernels/transcendental.cc"
#include "regrow/kernels/targets.inc"

#include "hwy/foreach_target.h"  // must come before highway.h

#include <cmath>
#include <cstdint>
#include <limits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "regrow/kernels/kernel_tables.h"
#include "regrow/kernels/simd_loop.inc"

HWY_BEFORE_NAMESPACE();
namespace regrow::kernels {
namespace HWY_NAMESPACE {

struct Exp {
  template <class D, class V>
  static HWY_INLINE V vector(D d, V x) {
    const V inside = hn::Min(x, hn::Set(d, 89.0f));  // e^89 is beyond the range already
    return keep_nan(x, hn::Exp(d, inside));
  }
};

struct Expm1 {
  template <class D, class V>
  static HWY_INLINE V vector(D d, V x) {
    const V result = hn::Expm1(d, hn::Min(x, hn::Set(d, 89.0f)));
    return keep_nan(x, hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, result));
  }
};

// The logarithm of a positive number, or of what is none.
template <class D, class V>
HWY_INLINE V log_edges(D d, V x, V result) {
  const V zero = hn::Zero(d), infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  result = hn::IfThenElse(hn::Eq(x, infinity), infinity, result);
  result = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), result);
  result = hn::IfThenElse(hn::Lt(x, zero), hn::Set(d, std::numeric_limits<float>::quiet_NaN()), result);
  return result;
}

struct Log {
  template <class D, class V>
  static HWY_INLINE V vector(D d, V x) {
    return keep_nan(x, log_edges(d, x, hn::Log(d, x)));
  }
};

struct Log1p {
  template <class D, class V>
  static HWY_INLINE V vector(D d, V x) {
    const V one_more = hn::Add(x, hn::Set(d, 1.0f));
    const V result = log_edges(d, one_more, hn::Log1p(d, x));
    return keep_nan(x, hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, result));
  }
};

struct Tanh {
  template <class D, class V>
  static HWY_INLINE V vector(D d, V x) {
    return keep_nan(x, hn::Tanh(d, x));
  }
};

// Below 1: x + x P(x^2). From there on: 1 - e^(-x Q(x)); from 4 on that rounds to 1. P and Q are minimax in the relative error of
// the result, fitted in double precision (0.02 and 0.015 units of the last place before rounding).
struct Erf {
  template <class D, class V>
  static HWY_INLINE V pair(D d, V x, const float* coefficients) {
    return hn::MulAdd(hn::Set(d, coefficients[1]), x, hn::Set(d, coefficients[0]));
  }
  // Estrin's scheme: few steps wait for the one before.
  template <class D, class V>
  static HWY_INLINE V polynomial(D d, V x, const float (&c)[7]) {
    const V square = hn::Mul(x, x), low = hn::MulAdd(pair(d, x, c + 2), square, pair(d, x, c)),
            high = hn::MulAdd(hn::Set(d, c[6]), square, pair(d, x, c + 4));
    return hn::MulAdd(high, hn::Mul(square, square), low);
  }
  template <class D, class V>
  static HWY_INLINE V vector(D d, V x) {
    constexpr float near[7] = {0.12837916612625122f,  -0.3761262595653534f,    0.1128358542919159f,   -0.026853812858462334f,
                               0.005188329610973597f, -0.0008010208257474005f, 7.853906572563574e-05f};
    constexpr float far[7] = {1.1286370754241943f,   0.6351980566978455f,      0.1061590313911438f,   -0.02369455248117447f,
                              0.003610334824770689f, -0.00031485623912885785f, 1.043291649693856e-05f};
    const V one = hn::Set(d, 1.0f), magnitude = hn::Min(hn::Abs(x), hn::Set(d, 4.0f));
    const V small = hn::MulAdd(x, polynomial(d, hn::Mul(x, x), near), x);
    const V large = hn::Sub(one, hn::Exp(d, hn::Neg(hn::Mul(magnitude, polynomial(d, magnitude, far)))));
    return keep_nan(x, hn::IfThenElse(hn::Lt(magnitude, one), small, hn::CopySign(large, x)));
  }
};

// Beyond this the vector functions lose digits in the reduction by pi.
constexpr float large_angle = 30000.0f;

template <float (*Scalar)(float)>
struct LargeAngles {
  template <class D, class V>
  static HWY_INLINE V patch(D d, V x, V result) {
    if (HWY_LIKELY(hn::AllTrue(d, hn::Le(hn::Abs(x), hn::Set(d, large_angle))))) return result;
    HWY_ALIGN float angles[hn::MaxLanes(d)];
    HWY_ALIGN float results[hn::MaxLanes(d)];
    hn::Store(x, d, angles);
    hn::Store(result, d, results);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i)
      if (!(std::fabs(angles[i]) <= large_angle)) results[i] = Scalar(angles[i]);
    return hn::Load(d, results);
  }
};

inline float scalar_sin(float x) { return std::sin(x); }
inline float scalar_cos(float x) { return std::cos(x); }

struct Sin {
  template <class D, class V>
  static HWY_INLINE V vector(D d, V x) {
    const V result = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, hn::Sin(d, x));
    return LargeAngles<scalar_sin>::patch(d, x, result);
  }
};

struct Cos {
  template <class D, class V>
  static HWY_INLINE V vector(D d, V x) {
    return LargeAngles<scalar_cos>::patch(d, x, hn::Cos(d, x));
  }
};

TileFn transcendental_function(Unary f, DType type) {
  if (!is_floating(type)) return nullptr;
  const bool wide = type == DType::f64;
  switch (f) {
    case Unary::exp: return wide ? double_loop<std::exp> : vector_loop1<float, Exp>;
    case Unary::expm1: return wide ? double_loop<std::expm1> : vector_loop1<float, Expm1>;
    case Unary::log: return wide ? double_loop<std::log> : vector_loop1<float, Log>;
    case Unary::log1p: return wide ? double_loop<std::log1p> : vector_loop1<float, Log1p>;
    case Unary::sin: return wide ? double_loop<std::sin> : vector_loop1<float, Sin>;
    case Unary::cos: return wide ? double_loop<std::cos> : vector_loop1<float, Cos>;
    case Unary::tanh: return wide ? double_loop<std::tanh> : vector_loop1<float, Tanh>;
    case Unary::erf: return wide ? double_loop<std::erf> : vector_loop1<float, Erf>;
    default: return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace regrow::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace regrow::kernels {

HWY_EXPORT(transcendental_function);

TileFn find_transcendental(Unary f, DType type) { return HWY_DYNAMIC_DISPATCH(transcendental_function)(f, type); }

}  // namespace regrow::kernels
#endif  // HWY_ONCE
