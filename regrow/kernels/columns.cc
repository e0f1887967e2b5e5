// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/columns.h"

#include <algorithm>

#include "regrow/kernels/convert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "regrow/kernels/columns.cc"
#include "regrow/kernels/targets.inc"
#include <hwy/foreach_target.h>

#include "regrow/kernels/wide_lanes.inc"

HWY_BEFORE_NAMESPACE();
namespace regrow::kernels::HWY_NAMESPACE {

// body(first column, how many) for every sixteen columns.
template <class Body>
HWY_INLINE void for_lanes(const Columns& m, Body&& body) {
  for (std::int64_t j = 0; j < m.columns; j += wide_lanes) body(j, std::min(wide_lanes, m.columns - j));
}

template <class T>
void moments(const Columns& m, const T* x, const double* shift, double* sum, double* square) {
  for_lanes(m, [&](std::int64_t j, std::int64_t n) HWY_ATTR {
    const WideLanes from = wide_load(shift + j);
    WideLanes s = wide_set(0), q = wide_set(0);
    for (std::int64_t i = 0; i < m.rows; ++i) {
      const WideLanes d = wide_load(x + i * m.columns + j, n) - from;
      s = s + d, q = q + d * d;
    }
    wide_store(s, sum + j), wide_store(q, square + j);
  });
}

template <class T>
void products(const Columns& m, const T* grad, const T* x, const double* center, double* sum, double* product) {
  for_lanes(m, [&](std::int64_t j, std::int64_t n) HWY_ATTR {
    const WideLanes from = wide_load(center + j);
    WideLanes s = wide_set(0), p = wide_set(0);
    for (std::int64_t i = 0; i < m.rows; ++i) {
      const WideLanes g = wide_load(grad + i * m.columns + j, n);
      s = s + g, p = p + g * (wide_load(x + i * m.columns + j, n) - from);
    }
    wide_store(s, sum + j), wide_store(p, product + j);
  });
}

template <class T>
void scale(const Columns& m, const T* x, const double* center, const double* by, const double* shift, T* out) {
  for_lanes(m, [&](std::int64_t j, std::int64_t n) HWY_ATTR {
    const WideLanes from = wide_load(center + j), a = wide_load(by + j), b = wide_load(shift + j);
    for (std::int64_t i = 0; i < m.rows; ++i) {
      const std::int64_t at = i * m.columns + j;
      wide_store((wide_load(x + at, n) - from) * a + b, out + at, n);
    }
  });
}

template <class T>
void combine(const Columns& m, const T* grad, const T* x, const double* center, const double* a, const double* b, const double* c,
             T* out) {
  for_lanes(m, [&](std::int64_t j, std::int64_t n) HWY_ATTR {
    const WideLanes from = wide_load(center + j), of_grad = wide_load(a + j), of_x = wide_load(b + j), rest = wide_load(c + j);
    for (std::int64_t i = 0; i < m.rows; ++i) {
      const std::int64_t at = i * m.columns + j;
      wide_store(wide_load(grad + at, n) * of_grad + (wide_load(x + at, n) - from) * of_x + rest, out + at, n);
    }
  });
}

template <class T>
const T* of(const std::byte* bytes, T) {
  return reinterpret_cast<const T*>(bytes);
}
template <class T>
T* of(std::byte* bytes, T) {
  return reinterpret_cast<T*>(bytes);
}

void moments_any(const Columns& m, const std::byte* x, const double* shift, double* sum, double* square) {
  with_float(m.dtype, [&]<class T>(T t) HWY_ATTR { moments(m, of(x, t), shift, sum, square); });
}
void products_any(const Columns& m, const std::byte* grad, const std::byte* x, const double* center, double* sum,
                  double* product) {
  with_float(m.dtype, [&]<class T>(T t) HWY_ATTR { products(m, of(grad, t), of(x, t), center, sum, product); });
}
void scale_any(const Columns& m, const std::byte* x, const double* center, const double* by, const double* shift,
               std::byte* out) {
  with_float(m.dtype, [&]<class T>(T t) HWY_ATTR { scale(m, of(x, t), center, by, shift, of(out, t)); });
}
void combine_any(const Columns& m, const std::byte* grad, const std::byte* x, const double* center, const double* a,
                 const double* b, const double* c, std::byte* out) {
  with_float(m.dtype, [&]<class T>(T t) HWY_ATTR { combine(m, of(grad, t), of(x, t), center, a, b, c, of(out, t)); });
}

}  // namespace regrow::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace regrow::kernels {

HWY_EXPORT(moments_any);
HWY_EXPORT(products_any);
HWY_EXPORT(scale_any);
HWY_EXPORT(combine_any);

void read_table(const View& numbers, double* table) {
  const Desc dense = Desc::dense(DType::f64, numbers.shape());
  convert(numbers, {&dense, reinterpret_cast<std::byte*>(table)});
  std::fill(table + numbers.count(), table + column_capacity(numbers.count()), 0.0);
}

void write_table(const double* table, const View& out) {
  const Desc dense = Desc::dense(DType::f64, out.shape());
  convert({&dense, reinterpret_cast<std::byte*>(const_cast<double*>(table))}, out);
}

void column_moments(const Columns& m, const std::byte* x, const double* shift, double* sum, double* square) {
  HWY_DYNAMIC_DISPATCH(moments_any)(m, x, shift, sum, square);
}
void column_products(const Columns& m, const std::byte* grad, const std::byte* x, const double* center, double* sum,
                     double* product) {
  HWY_DYNAMIC_DISPATCH(products_any)(m, grad, x, center, sum, product);
}
void column_scale(const Columns& m, const std::byte* x, const double* center, const double* by, const double* shift,
                  std::byte* out) {
  HWY_DYNAMIC_DISPATCH(scale_any)(m, x, center, by, shift, out);
}
void column_combine(const Columns& m, const std::byte* grad, const std::byte* x, const double* center, const double* a,
                    const double* b, const double* c, std::byte* out) {
  HWY_DYNAMIC_DISPATCH(combine_any)(m, grad, x, center, a, b, c, out);
}

}  // namespace regrow::kernels
#endif
