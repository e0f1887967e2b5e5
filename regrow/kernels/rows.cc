// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/rows.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "regrow/kernels/rows.cc"
#include "regrow/kernels/targets.inc"
#include <hwy/foreach_target.h>  // first
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace regrow::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// hn::Exp gives 0 for NaN.
template <class D, class V>
HWY_INLINE V exp_of(D d, V x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, x));
}

template <class T>
void fill_up(T* row, std::int64_t n) {
  std::fill(row + n, row + row_capacity(n), -std::numeric_limits<T>::infinity());
}

// The row is filled up with -inf, of which exp is 0. `Keep`: the exponentials replace the row.
template <bool Keep, class T>
RowMass<T> mass(T* row, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d)), padded = row_capacity(n);
  fill_up(row, n);
  auto most = hn::Load(d, row);
  for (std::int64_t i = lanes; i < padded; i += lanes) most = hn::Max(most, hn::Load(d, row + i));
  most = hn::MaxOfLanes(d, most);
  auto sum = hn::Zero(d);
  for (std::int64_t i = 0; i < padded; i += lanes) {
    const auto e = exp_of(d, hn::Sub(hn::Load(d, row + i), most));
    sum = hn::Add(sum, e);
    if (Keep) hn::Store(e, d, row + i);
  }
  return {hn::GetLane(most), hn::GetLane(hn::SumOfLanes(d, sum))};
}

template <class T>
void softmax(T* row, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto sum = hn::Set(d, mass<true>(row, n).sum);
  for (std::int64_t i = 0; i < n; i += static_cast<std::int64_t>(hn::Lanes(d)))
    hn::Store(hn::Div(hn::Load(d, row + i), sum), d, row + i);
}

template <class T>
void subtract(T* row, std::int64_t n, T a, T b) {
  const hn::ScalableTag<T> d;
  const auto first = hn::Set(d, a), second = hn::Set(d, b);
  for (std::int64_t i = 0; i < n; i += static_cast<std::int64_t>(hn::Lanes(d)))
    hn::Store(hn::Sub(hn::Sub(hn::Load(d, row + i), first), second), d, row + i);
}

// Elements behind the row are made -inf after scaling, whatever the sign of the scale.
template <class T>
RowMass<T> exponentials(T* row, std::int64_t n, T scale, T floor) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d)), padded = row_capacity(n);
  const auto factor = hn::Set(d, scale), nothing = hn::Set(d, -std::numeric_limits<T>::infinity());
  auto most = hn::Set(d, floor);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto x = hn::Mul(hn::Load(d, row + i), factor);
    hn::Store(x, d, row + i);
    most = hn::Max(most, x);
  }
  if (i < n) {
    const auto x = hn::IfThenElse(hn::FirstN(d, static_cast<std::size_t>(n - i)), hn::Mul(hn::Load(d, row + i), factor), nothing);
    hn::Store(x, d, row + i);
    most = hn::Max(most, x);
    i += lanes;
  }
  for (; i < padded; i += lanes) hn::Store(nothing, d, row + i);
  most = hn::MaxOfLanes(d, most);
  const T max = hn::GetLane(most);
  if (max == -std::numeric_limits<T>::infinity()) return std::fill_n(row, padded, T(0)), RowMass<T>{max, 0};
  auto sum = hn::Zero(d);
  for (i = 0; i < padded; i += lanes) {
    const auto e = exp_of(d, hn::Sub(hn::Load(d, row + i), most));
    sum = hn::Add(sum, e);
    hn::Store(e, d, row + i);
  }
  return {max, hn::GetLane(hn::SumOfLanes(d, sum))};
}

template <class T>
void weights(T* row, std::int64_t n, T scale, T shift) {
  const hn::ScalableTag<T> d;
  const auto factor = hn::Set(d, scale), off = hn::Set(d, shift);
  for (std::int64_t i = 0; i < n; i += static_cast<std::int64_t>(hn::Lanes(d)))
    hn::Store(exp_of(d, hn::Sub(hn::Mul(hn::Load(d, row + i), factor), off)), d, row + i);
}

template <class T>
void score_gradient(const T* weight, T* grad, std::int64_t n, T mean, T scale) {
  const hn::ScalableTag<T> d;
  const auto off = hn::Set(d, mean), factor = hn::Set(d, scale);
  for (std::int64_t i = 0; i < n; i += static_cast<std::int64_t>(hn::Lanes(d)))
    hn::Store(hn::Mul(hn::Mul(hn::Load(d, weight + i), hn::Sub(hn::Load(d, grad + i), off)), factor), d, grad + i);
}

RowMass<float> mass_f32(float* row, std::int64_t n) { return mass<false>(row, n); }
RowMass<double> mass_f64(double* row, std::int64_t n) { return mass<false>(row, n); }
void softmax_f32(float* row, std::int64_t n) { softmax(row, n); }
void softmax_f64(double* row, std::int64_t n) { softmax(row, n); }
RowMass<float> exponentials_f32(float* row, std::int64_t n, float scale, float floor) { return exponentials(row, n, scale, floor); }
RowMass<double> exponentials_f64(double* row, std::int64_t n, double scale, double floor) {
  return exponentials(row, n, scale, floor);
}
void weights_f32(float* row, std::int64_t n, float scale, float shift) { weights(row, n, scale, shift); }
void weights_f64(double* row, std::int64_t n, double scale, double shift) { weights(row, n, scale, shift); }
void score_gradient_f32(const float* weight, float* grad, std::int64_t n, float mean, float scale) {
  score_gradient(weight, grad, n, mean, scale);
}
void score_gradient_f64(const double* weight, double* grad, std::int64_t n, double mean, double scale) {
  score_gradient(weight, grad, n, mean, scale);
}
void subtract_f32(float* row, std::int64_t n, float a, float b) { subtract(row, n, a, b); }
void subtract_f64(double* row, std::int64_t n, double a, double b) { subtract(row, n, a, b); }

}  // namespace regrow::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace regrow::kernels {

HWY_EXPORT(mass_f32);
HWY_EXPORT(mass_f64);
HWY_EXPORT(softmax_f32);
HWY_EXPORT(softmax_f64);
HWY_EXPORT(exponentials_f32);
HWY_EXPORT(exponentials_f64);
HWY_EXPORT(weights_f32);
HWY_EXPORT(weights_f64);
HWY_EXPORT(score_gradient_f32);
HWY_EXPORT(score_gradient_f64);
HWY_EXPORT(subtract_f32);
HWY_EXPORT(subtract_f64);

RowMass<float> row_mass(float* row, std::int64_t n) { return HWY_DYNAMIC_DISPATCH(mass_f32)(row, n); }
RowMass<double> row_mass(double* row, std::int64_t n) { return HWY_DYNAMIC_DISPATCH(mass_f64)(row, n); }
void row_softmax(float* row, std::int64_t n) { HWY_DYNAMIC_DISPATCH(softmax_f32)(row, n); }
void row_softmax(double* row, std::int64_t n) { HWY_DYNAMIC_DISPATCH(softmax_f64)(row, n); }
RowMass<float> row_exponentials(float* row, std::int64_t n, float scale, float floor) {
  return HWY_DYNAMIC_DISPATCH(exponentials_f32)(row, n, scale, floor);
}
RowMass<double> row_exponentials(double* row, std::int64_t n, double scale, double floor) {
  return HWY_DYNAMIC_DISPATCH(exponentials_f64)(row, n, scale, floor);
}
void row_weights(float* row, std::int64_t n, float scale, float shift) {
  HWY_DYNAMIC_DISPATCH(weights_f32)(row, n, scale, shift);
}
void row_weights(double* row, std::int64_t n, double scale, double shift) {
  HWY_DYNAMIC_DISPATCH(weights_f64)(row, n, scale, shift);
}
void row_score_gradient(const float* weight, float* grad, std::int64_t n, float mean, float scale) {
  HWY_DYNAMIC_DISPATCH(score_gradient_f32)(weight, grad, n, mean, scale);
}
void row_score_gradient(const double* weight, double* grad, std::int64_t n, double mean, double scale) {
  HWY_DYNAMIC_DISPATCH(score_gradient_f64)(weight, grad, n, mean, scale);
}
void row_subtract(float* row, std::int64_t n, float a, float b) { HWY_DYNAMIC_DISPATCH(subtract_f32)(row, n, a, b); }
void row_subtract(double* row, std::int64_t n, double a, double b) { HWY_DYNAMIC_DISPATCH(subtract_f64)(row, n, a, b); }

}  // namespace regrow::kernels
#endif
