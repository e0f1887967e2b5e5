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

RowMass<float> mass_f32(float* row, std::int64_t n) { return mass<false>(row, n); }
RowMass<double> mass_f64(double* row, std::int64_t n) { return mass<false>(row, n); }
void softmax_f32(float* row, std::int64_t n) { softmax(row, n); }
void softmax_f64(double* row, std::int64_t n) { softmax(row, n); }
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
HWY_EXPORT(subtract_f32);
HWY_EXPORT(subtract_f64);

RowMass<float> row_mass(float* row, std::int64_t n) { return HWY_DYNAMIC_DISPATCH(mass_f32)(row, n); }
RowMass<double> row_mass(double* row, std::int64_t n) { return HWY_DYNAMIC_DISPATCH(mass_f64)(row, n); }
void row_softmax(float* row, std::int64_t n) { HWY_DYNAMIC_DISPATCH(softmax_f32)(row, n); }
void row_softmax(double* row, std::int64_t n) { HWY_DYNAMIC_DISPATCH(softmax_f64)(row, n); }
void row_subtract(float* row, std::int64_t n, float a, float b) { HWY_DYNAMIC_DISPATCH(subtract_f32)(row, n, a, b); }
void row_subtract(double* row, std::int64_t n, double a, double b) { HWY_DYNAMIC_DISPATCH(subtract_f64)(row, n, a, b); }

}  // namespace regrow::kernels
#endif
