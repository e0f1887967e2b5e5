// SPDX-License-Identifier: Apache-2.0
// sigmoid, silu, gelu and their slopes, each from one power of e whose argument is not above 40. f32: relative errors of a few
// units of the last place down to the smallest denormal: nothing cancels, exponents are computed to twice the precision, and a
// result is scaled into the denormals by its last rounding only. f64: the C library's functions, one at a time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "regrow/kernels/activations.cc"
#include "regrow/kernels/targets.inc"

#include "hwy/foreach_target.h"  // must come before highway.h

#include <algorithm>
#include <cmath>

#include "hwy/highway.h"
#include "regrow/kernels/kernel_tables.h"
#include "regrow/kernels/simd_loop.inc"

HWY_BEFORE_NAMESPACE();
namespace regrow::kernels {
namespace HWY_NAMESPACE {

constexpr double inverse_root_2_pi = 0.39894228040143268, gelu_cube = 0.044715;
constexpr double two_root_2_over_pi = 1.5957691216057308;  // (1 + tanh y) / 2 = 1 / (1 + e^-2y)
constexpr float two_32 = 4294967296.0f;

template <class D>
HWY_INLINE hn::Vec<D> number(D d, double value) {
  return hn::Set(d, static_cast<float>(value));
}

// What rounding took from a * b = product.
template <class D, class V>
HWY_INLINE V product_rest(D d, V a, V b, V product) {
#if HWY_NATIVE_FMA
  (void)d;
  return hn::MulSub(a, b, product);
#else  // halves of 12 bits, whose products are exact
  const auto high_bits = hn::BitCast(d, hn::Set(hn::RebindToUnsigned<D>(), 0xFFFFF000u));
  const V a1 = hn::And(a, high_bits), a2 = hn::Sub(a, a1), b1 = hn::And(b, high_bits), b2 = hn::Sub(b, b1);
  const V most = hn::Sub(hn::Mul(a1, b1), product);
  return hn::Add(hn::Add(hn::Add(most, hn::Mul(a1, b2)), hn::Mul(a2, b1)), hn::Mul(a2, b2));
#endif
}

// 2^32 e^(x + rest), for x from -110.4 to 40: so scaled it is never denormal, and 0 below -109.9. The power of two is built in
// the last bits of a sum that rounds to whole numbers; the polynomial is minimax in the relative error (0.06 units of the last
// place before rounding).
template <class D, class V>
HWY_INLINE V large_exp(D d, V x, V rest) {
  const V rounds = number(d, 0x1.8p23 + 127 + 32), shifted = hn::MulAdd(x, number(d, 1.4426950408889634), rounds);
  const V scale = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(hn::RebindToUnsigned<D>(), shifted)));
  const V turns = hn::Sub(shifted, rounds);
  V r = hn::MulAdd(turns, number(d, -0.693145751953125), x);  // exact
  r = hn::Add(hn::MulAdd(turns, number(d, -1.4286068203094173e-6), r), rest);
  const V square = hn::Mul(r, r);
  const V low = hn::MulAdd(number(d, 0.166665148), r, number(d, 0.499999931));
  const V high = hn::MulAdd(hn::MulAdd(number(d, 0.00138131445), r, number(d, 0.00836941884)), r, number(d, 0.0416684568));
  return hn::Mul(hn::Add(hn::MulAdd(hn::MulAdd(high, square, low), square, r), hn::Set(d, 1.0f)), scale);
}

// factor(x) / (1 + e^-x), x inside the range of large_exp.
template <class D, class V>
HWY_INLINE V times_sigmoid(D d, V factor, V power) {
  return hn::Div(hn::Mul(factor, power), hn::Add(power, hn::Set(d, two_32)));
}
// The slope of x s(y), s = sigmoid, where y = y(x): s(y) (1 + x y' (1 - s(y))).
template <class D, class V>
HWY_INLINE V sigmoid_slope(D d, V x_times_slope, V power) {
  const V sum = hn::Add(power, hn::Set(d, two_32)), above = hn::Div(hn::Set(d, two_32), sum);
  return hn::Div(hn::Mul(power, hn::MulAdd(x_times_slope, above, hn::Set(d, 1.0f))), sum);
}

template <class D, class V>
HWY_INLINE V clamp(D d, V x, double low, double high) {
  return hn::Min(hn::Max(x, number(d, low)), number(d, high));
}
// x itself from `high` on, and where it is NaN.
template <class D, class V>
HWY_INLINE V below(D d, V x, double high, V result) {
  return hn::IfThenElse(hn::Le(x, number(d, high)), result, x);
}

struct Sigmoid {
  template <class D, class V>
  static HWY_INLINE V vector(D d, V x) {
    const V power = large_exp(d, clamp(d, x, -109.5, 40), hn::Zero(d));
    return keep_nan(x, times_sigmoid(d, hn::Set(d, 1.0f), power));
  }
};
struct Silu {
  template <class D, class V>
  static HWY_INLINE V vector(D d, V x) {
    const V near = clamp(d, x, -109.5, 40);
    return below(d, x, 40, times_sigmoid(d, near, large_exp(d, near, hn::Zero(d))));
  }
};
struct SiluGradient {
  template <class D, class V>
  static HWY_INLINE V vector(D d, V grad, V x) {
    const V near = clamp(d, x, -109.5, 40);
    return hn::Mul(grad, keep_nan(x, sigmoid_slope(d, near, large_exp(d, near, hn::Zero(d)))));
  }
};

// gelu by tanh is x s(y), y = a x + b x^3 = x (a + b x^2).
constexpr double tanh_low = -10.91, tanh_high = 6;  // at -10.91, y = -110.1, the slope is 0, too
template <class D, class V>
HWY_INLINE V tanh_power(D d, V x, V square) {
  constexpr double a = two_root_2_over_pi, b = a * gelu_cube;
  constexpr float short_a = 1.595703125f, single_b = static_cast<float>(b);  // a sum that is short enough to lose nothing
  const V product = hn::Mul(square, hn::Set(d, single_b)), inner = hn::Add(product, hn::Set(d, short_a));
  const V lost =
      hn::Add(hn::Add(hn::Sub(hn::Set(d, short_a), inner), product), product_rest(d, square, hn::Set(d, single_b), product));
  const V constants = hn::MulAdd(square, number(d, b - single_b), number(d, a - short_a));
  const V inner_rest = hn::MulAdd(product_rest(d, x, x, square), hn::Set(d, single_b), hn::Add(lost, constants));
  const V y = hn::Mul(x, inner);
  return large_exp(d, y, hn::MulAdd(x, inner_rest, product_rest(d, x, inner, y)));
}
struct GeluTanh {
  template <class D, class V>
  static HWY_INLINE V vector(D d, V x) {
    const V near = clamp(d, x, tanh_low, tanh_high);
    return below(d, x, tanh_high, times_sigmoid(d, near, tanh_power(d, near, hn::Mul(near, near))));
  }
};
struct GeluTanhGradient {
  template <class D, class V>
  static HWY_INLINE V vector(D d, V grad, V x) {
    const V near = clamp(d, x, tanh_low, tanh_high), square = hn::Mul(near, near);
    const V slope = hn::MulAdd(square, number(d, 3 * gelu_cube * two_root_2_over_pi), number(d, two_root_2_over_pi));
    return hn::Mul(grad, keep_nan(x, sigmoid_slope(d, hn::Mul(near, slope), tanh_power(d, near, square))));
  }
};

// The probability that a normal number is above x >= 0 is e^(-x^2/2) P(x)/Q(x): minimax in the relative error up to 14.5, where
// the product leaves the range (0.05 units of the last place before rounding). Here Q is 2^32 times as large.
constexpr float normal_far = 14.7f;  // times this it is 0
struct NormalTail {
  template <class D, class V>
  static HWY_INLINE V power(D d, V x) {
    const V square = hn::Mul(x, x), half = hn::Set(d, -0.5f);
    return large_exp(d, hn::Mul(square, half), hn::Mul(product_rest(d, x, x, square), half));
  }
  template <class D, class V>
  static HWY_INLINE V numerator(D d, V x) {
    const V low = hn::MulAdd(number(d, 0.438294349), x, number(d, 0.500000003));
    const V high = hn::MulAdd(hn::MulAdd(number(d, 0.00411628385), x, number(d, 0.040633066)), x, number(d, 0.183234676));
    return hn::MulAdd(high, hn::Mul(x, x), low);
  }
  template <class D, class V>
  static HWY_INLINE V denominator(D d, V x) {
    const V square = hn::Mul(x, x), low = hn::MulAdd(number(d, 1.67447368 * two_32), x, hn::Set(d, two_32)),
            middle = hn::MulAdd(number(d, 0.469469406 * two_32), x, number(d, 1.20250126 * two_32)),
            high = hn::MulAdd(number(d, 0.0103178737 * two_32), x, number(d, 0.101858439 * two_32));
    return hn::MulAdd(hn::MulAdd(high, square, middle), square, low);
  }
};
struct Gelu {  // max(x, 0) - |x| (tail of |x|)
  template <class D, class V>
  static HWY_INLINE V vector(D d, V x) {
    const V near = hn::Min(hn::Abs(x), hn::Set(d, normal_far));
    const V product = hn::Mul(hn::Mul(near, NormalTail::numerator(d, near)), NormalTail::power(d, near));
    const V positive = hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);  // -0 and NaN as they are
    return hn::Sub(positive, hn::Div(product, NormalTail::denominator(d, near)));
  }
};
struct GeluGradient {  // x < 0: the tail of |x| less |x| times the density; above 0 what is left of 1
  template <class D, class V>
  static HWY_INLINE V vector(D d, V grad, V x) {
    const V near = hn::Min(hn::Abs(x), hn::Set(d, normal_far));
    const V ratio = hn::Div(NormalTail::numerator(d, near), NormalTail::denominator(d, near));
    const V left = hn::Mul(NormalTail::power(d, near), hn::NegMulAdd(near, number(d, inverse_root_2_pi / two_32), ratio));
    return hn::Mul(grad, keep_nan(x, hn::IfThenElse(hn::Lt(x, hn::Zero(d)), left, hn::Sub(hn::Set(d, 1.0f), left))));
  }
};

// Where a factor is 0 or 1 far out, x is bounded, so that infinities give the limit, not NaN.
inline double bounded(double x) { return std::isnan(x) ? x : std::min(std::max(x, -1e4), 1e4); }
inline double not_below(double x) { return std::isnan(x) ? x : std::max(x, -1e4); }
inline double sigmoid(double x) {
  const double power = std::exp(-std::fabs(x));
  return (x < 0 ? power : 1.0) / (1.0 + power);
}
// What rounding takes from an exponent is put back as a factor: -745.1 has only three digits behind its last place.
inline double sigmoid(long double x) {
  const auto single = static_cast<double>(x), rest = static_cast<double>(x - single);
  return x < 0 ? sigmoid(single) * (1 + rest) : sigmoid(single);
}
inline double normal_below(double x) {
  const long double exact = x * -0.707106781186547524400844362104849039L;
  const auto z = static_cast<double>(exact), rest = static_cast<double>(exact - z);
  return 0.5 * std::erfc(z) * (z > 1 ? 1 - 2 * z * rest : 1.0);
}
inline long double gelu_exponent(double x) { return 1.59576912160573071175978423973752747L * x * (1 + 0.044715L * x * x); }
inline double gelu(double x) { return not_below(x) * normal_below(bounded(x)); }
inline double gelu_tanh(double x) { return not_below(x) * sigmoid(gelu_exponent(bounded(x))); }
inline double silu(double x) { return not_below(x) * sigmoid(x); }
inline double gelu_slope(double x) {
  const double near = bounded(x);
  return normal_below(near) + near * std::exp(-0.5 * near * near) * inverse_root_2_pi;
}
inline double gelu_tanh_slope(double x) {
  const double near = bounded(x);
  const long double y = gelu_exponent(near);
  return sigmoid(y) * (1 + near * sigmoid(-y) * two_root_2_over_pi * (1 + 3 * gelu_cube * near * near));
}
inline double silu_slope(double x) { return sigmoid(x) * (1 + bounded(x) * sigmoid(-x)); }

// grad times the slope at x.
template <double (*Slope)(double)>
void double_slope_loop(const void* const* in, void* out, std::size_t n) {
  const auto *grad = static_cast<const double*>(in[0]), *x = static_cast<const double*>(in[1]);
  auto* to = static_cast<double*>(out);
  for (std::size_t i = 0; i < n; ++i) to[i] = grad[i] * Slope(x[i]);
}

TileFn activation(Unary f, DType type) {
  if (!is_floating(type)) return nullptr;
  const bool wide = type == DType::f64;
  switch (f) {
    case Unary::sigmoid: return wide ? double_loop<sigmoid> : vector_loop1<float, Sigmoid>;
    case Unary::gelu: return wide ? double_loop<gelu> : vector_loop1<float, Gelu>;
    case Unary::gelu_tanh: return wide ? double_loop<gelu_tanh> : vector_loop1<float, GeluTanh>;
    case Unary::silu: return wide ? double_loop<silu> : vector_loop1<float, Silu>;
    default: return nullptr;
  }
}

TileFn activation_slope(Binary f, DType type) {
  if (!is_floating(type)) return nullptr;
  const bool wide = type == DType::f64;
  switch (f) {
    case Binary::gelu_gradient: return wide ? double_slope_loop<gelu_slope> : vector_loop2<float, GeluGradient>;
    case Binary::gelu_tanh_gradient: return wide ? double_slope_loop<gelu_tanh_slope> : vector_loop2<float, GeluTanhGradient>;
    case Binary::silu_gradient: return wide ? double_slope_loop<silu_slope> : vector_loop2<float, SiluGradient>;
    default: return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace regrow::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace regrow::kernels {

HWY_EXPORT(activation);
HWY_EXPORT(activation_slope);

TileFn find_activation(Unary f, DType type) { return HWY_DYNAMIC_DISPATCH(activation)(f, type); }
TileFn find_activation(Binary f, DType type) { return HWY_DYNAMIC_DISPATCH(activation_slope)(f, type); }

}  // namespace regrow::kernels
#endif  // HWY_ONCE
