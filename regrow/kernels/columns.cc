// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/columns.h"

#include <algorithm>

#include "regrow/kernels/convert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "regrow/kernels/columns.cc"
#include <hwy/foreach_target.h>
#include "regrow/kernels/targets.inc"

#include "regrow/kernels/wide_lanes.inc"

HWY_BEFORE_NAMESPACE();
namespace regrow::kernels::HWY_NAMESPACE {

// Two sums down each column: f(row, first column, how many columns) gives what is added to both. Up to four times sixteen columns
// are done together, so that memory is read in its order.
template <std::int64_t groups, class F>
HWY_INLINE void sums_of_panel(std::int64_t rows, std::int64_t j, std::int64_t last, F&& f, double* first_sum,
                              double* second_sum) {
  WideLanes s[groups], q[groups];
  for (std::int64_t g = 0; g < groups; ++g) s[g] = q[g] = wide_set(0);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t g = 0; g < groups; ++g) f(i, j + g * wide_lanes, last, s[g], q[g]);
  for (std::int64_t g = 0; g < groups; ++g)
    wide_store(s[g], first_sum + j + g * wide_lanes), wide_store(q[g], second_sum + j + g * wide_lanes);
}

template <class F>
HWY_INLINE void sums_of_columns(const Columns& m, F&& f, double* first_sum, double* second_sum) {
  std::int64_t j = 0;
  for (; m.columns - j >= 4 * wide_lanes; j += 4 * wide_lanes) sums_of_panel<4>(m.rows, j, wide_lanes, f, first_sum, second_sum);
  for (; m.columns - j >= wide_lanes; j += wide_lanes) sums_of_panel<1>(m.rows, j, wide_lanes, f, first_sum, second_sum);
  if (j < m.columns) sums_of_panel<1>(m.rows, j, m.columns - j, f, first_sum, second_sum);
}

// body(offset, first column, how many) for every sixteen columns of every row.
template <class Body>
HWY_INLINE void for_elements(const Columns& m, Body&& body) {
  for (std::int64_t i = 0; i < m.rows; ++i) {
    std::int64_t j = 0;
    for (; j + wide_lanes <= m.columns; j += wide_lanes) body(i * m.columns + j, j, wide_lanes);
    if (j < m.columns) body(i * m.columns + j, j, m.columns - j);
  }
}

template <class T>
void moments(const Columns& m, const T* x, const double* shift, double* sum, double* square) {
  sums_of_columns(
      m,
      [&](std::int64_t i, std::int64_t j, std::int64_t n, WideLanes& s, WideLanes& q) HWY_ATTR {
        const WideLanes d = wide_load(x + i * m.columns + j, n) - wide_load(shift + j);
        s = s + d, q = q + d * d;
      },
      sum, square);
}

template <class T>
void products(const Columns& m, const T* grad, const T* x, const double* center, double* sum, double* product) {
  sums_of_columns(
      m,
      [&](std::int64_t i, std::int64_t j, std::int64_t n, WideLanes& s, WideLanes& p) HWY_ATTR {
        const WideLanes g = wide_load(grad + i * m.columns + j, n);
        s = s + g, p = p + g * (wide_load(x + i * m.columns + j, n) - wide_load(center + j));
      },
      sum, product);
}

template <class T>
void scale(const Columns& m, const T* x, const double* center, const double* by, const double* shift, T* out) {
  for_elements(m, [&](std::int64_t at, std::int64_t j, std::int64_t n) HWY_ATTR {
    wide_store((wide_load(x + at, n) - wide_load(center + j)) * wide_load(by + j) + wide_load(shift + j), out + at, n);
  });
}

template <class T>
void combine(const Columns& m, const T* grad, const T* x, const double* center, const double* a, const double* b, const double* c,
             T* out) {
  for_elements(m, [&](std::int64_t at, std::int64_t j, std::int64_t n) HWY_ATTR {
    const WideLanes of_x = (wide_load(x + at, n) - wide_load(center + j)) * wide_load(b + j);
    wide_store(wide_load(grad + at, n) * wide_load(a + j) + of_x + wide_load(c + j), out + at, n);
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
