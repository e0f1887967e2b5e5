// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/row_norm.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "regrow/kernels/columns.h"
#include "regrow/kernels/convert.h"
#include "regrow/kernels/parallel.h"
#include "regrow/kernels/workspace.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "regrow/kernels/row_norm.cc"
#include <hwy/foreach_target.h>
#include "regrow/kernels/targets.inc"

#include "regrow/kernels/wide_lanes.inc"

#ifndef REGROW_KERNELS_ROW_NORM_ONCE
#define REGROW_KERNELS_ROW_NORM_ONCE
namespace regrow::kernels {

// Dense rows, and the tables that belong to their elements: f64, padded to whole vectors.
struct NormRows {
  RowNorm how;
  DType dtype = DType::f32;
  std::int64_t length = 0;
  const std::byte *grad = nullptr, *x = nullptr;
  const double *weight = nullptr, *bias = nullptr;
  std::byte* out = nullptr;
};

}  // namespace regrow::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace regrow::kernels::HWY_NAMESPACE {

// body(first element, how many) for every sixteen elements of a row; where all sixteen are there, the number is a constant, or
// the compiler keeps vectors in memory to fill them up.
template <class Body>
HWY_INLINE void for_lanes(std::int64_t length, Body&& body) {
  std::int64_t j = 0;
  for (; j + wide_lanes <= length; j += wide_lanes) body(j, std::integral_constant<std::int64_t, wide_lanes>());
  if (j < length) body(j, length - j);
}

struct RowStatistics {
  double mean = 0, factor = 0;
};

// The first n lanes, zeros behind them.
HWY_INLINE WideLanes only(const WideLanes& x, std::integral_constant<std::int64_t, wide_lanes>) { return x; }
HWY_INLINE WideLanes only(const WideLanes& x, std::int64_t n) {
  HWY_ALIGN double lanes[wide_lanes];
  wide_store(x, lanes);
  return wide_load(static_cast<const double*>(lanes), n);
}

template <class T>
RowStatistics statistics(const NormRows& rows, const T* x) {
  const auto count = static_cast<double>(rows.length);
  RowStatistics found;
  if (rows.how.centered) {
    WideLanes sum = wide_set(0);
    for_lanes(rows.length, [&](std::int64_t j, auto n) HWY_ATTR { sum = sum + wide_load(x + j, n); });
    found.mean = wide_sum(sum) / count;
  }
  WideLanes square = wide_set(0);
  const WideLanes mean = wide_set(found.mean);
  for_lanes(rows.length, [&](std::int64_t j, auto n) HWY_ATTR {
    const WideLanes d = only(wide_load(x + j, n) - mean, n);
    square = square + d * d;
  });
  found.factor = 1 / std::sqrt(wide_sum(square) / count + rows.how.epsilon);
  return found;
}

template <class T>
void forward(const NormRows& rows, std::int64_t first, std::int64_t last) {
  for (std::int64_t i = first; i < last; ++i) {
    const T* x = reinterpret_cast<const T*>(rows.x) + i * rows.length;
    T* out = reinterpret_cast<T*>(rows.out) + i * rows.length;
    const RowStatistics s = statistics(rows, x);
    const WideLanes mean = wide_set(s.mean), factor = wide_set(s.factor);
    for_lanes(rows.length, [&](std::int64_t j, auto n) HWY_ATTR {
      WideLanes y = (wide_load(x + j, n) - mean) * factor * wide_load(rows.weight + j);
      if (rows.how.centered) y = y + wide_load(rows.bias + j);
      wide_store(y, out + j, n);
    });
  }
}

// With c = x - mean, f = the row's factor, h = grad weight: out = f (h - mean(h) - c f^2 mean(h c)); grad c f and grad are added
// to the tables of weight and bias.
template <class T>
void backward(const NormRows& rows, std::int64_t first, std::int64_t last, double* weight_sum, double* bias_sum) {
  const auto count = static_cast<double>(rows.length);
  for (std::int64_t i = first; i < last; ++i) {
    const T* x = reinterpret_cast<const T*>(rows.x) + i * rows.length;
    const T* grad = reinterpret_cast<const T*>(rows.grad) + i * rows.length;
    T* out = reinterpret_cast<T*>(rows.out) + i * rows.length;
    const RowStatistics s = statistics(rows, x);
    const WideLanes mean = wide_set(s.mean), factor = wide_set(s.factor);
    WideLanes total = wide_set(0), along = wide_set(0);
    for_lanes(rows.length, [&](std::int64_t j, auto n) HWY_ATTR {
      const WideLanes g = wide_load(grad + j, n), c = wide_load(x + j, n) - mean, h = g * wide_load(rows.weight + j);
      total = total + h, along = along + h * only(c, n);
      wide_store(wide_load(weight_sum + j) + g * c * factor, weight_sum + j);
      if (rows.how.centered) wide_store(wide_load(bias_sum + j) + g, bias_sum + j);
    });
    const double shift = rows.how.centered ? wide_sum(total) / count : 0;
    const WideLanes of_c = wide_set(-s.factor * s.factor * s.factor * (wide_sum(along) / count)),
                    rest = wide_set(-s.factor * shift);
    for_lanes(rows.length, [&](std::int64_t j, auto n) HWY_ATTR {
      const WideLanes h = wide_load(grad + j, n) * wide_load(rows.weight + j), c = wide_load(x + j, n) - mean;
      wide_store(h * factor + c * of_c + rest, out + j, n);
    });
  }
}

void forward_rows(const NormRows& rows, std::int64_t first, std::int64_t last) {
  with_float(rows.dtype, [&]<class T>(T) HWY_ATTR { forward<T>(rows, first, last); });
}
void backward_rows(const NormRows& rows, std::int64_t first, std::int64_t last, double* weight_sum, double* bias_sum) {
  with_float(rows.dtype, [&]<class T>(T) HWY_ATTR { backward<T>(rows, first, last, weight_sum, bias_sum); });
}

}  // namespace regrow::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace regrow::kernels {
namespace {

HWY_EXPORT(forward_rows);
HWY_EXPORT(backward_rows);

constexpr std::int64_t least_elements = 1 << 14;  // that a thread is woken for
constexpr std::int64_t most_blocks = 64;          // of rows that are summed together

// A tensor row after row: itself, or a copy.
struct DenseRows {
  Desc dense;
  std::byte* copy = nullptr;
  DenseRows(const Desc& x, Workspace& workspace) : dense(Desc::dense(x.dtype, x.shape)) {
    if (!x.contiguous()) copy = workspace.take(dense.bytes());
  }
  std::byte* read(const View& x) const {
    if (!copy) return x.data;
    convert(x, {&dense, copy});
    return copy;
  }
  std::byte* to_write(const View& out) const { return copy ? copy : out.data; }
  void write_back(const View& out) const {
    if (copy) convert({&dense, copy}, out);
  }
};

struct ForwardSpace {
  DenseRows x, out;
  std::int64_t length, rows;
  double *weight, *bias;
  ForwardSpace(const Desc& from, const Desc& weight_desc, const Desc& to, Workspace& workspace)
      : x(from, workspace), out(to, workspace), length(weight_desc.count()), rows(from.count() / length) {
    for (double** one : {&weight, &bias}) *one = workspace.take_array<double>(column_capacity(length));
  }
};

// Blocks of rows whose sums are added up in their order: a function of the shape.
struct BackwardSpace {
  DenseRows grad, x, out;
  std::int64_t length, rows, table, block, blocks;
  double *weight, *sums;  // of each block: weight's, bias's
  BackwardSpace(const Desc& from_grad, const Desc& from, const Desc& weight_desc, const Desc& to, Workspace& workspace)
      : grad(from_grad, workspace),
        x(from, workspace),
        out(to, workspace),
        length(weight_desc.count()),
        rows(from.count() / length),
        table(column_capacity(length)) {
    block = std::max({std::int64_t{1}, least_elements / length, (rows + most_blocks - 1) / most_blocks});
    blocks = (rows + block - 1) / block;
    weight = workspace.take_array<double>(table);
    sums = workspace.take_array<double>(2 * table * blocks);
  }
};

void clear(const View& out) { std::fill_n(out.data, out.desc->bytes(), std::byte{0}); }

}  // namespace

std::size_t row_norm_workspace(const Desc& x, const Desc& weight, const Desc& out) {
  if (x.count() == 0) return 0;
  Workspace workspace;
  (void)ForwardSpace(x, weight, out, workspace);
  return workspace.used();
}

void row_norm(const RowNorm& how, const View& x, const View& weight, const View* bias, const View& out,
              std::span<std::byte> bytes) {
  if (x.count() == 0) return;
  Workspace workspace(bytes);
  const ForwardSpace s(*x.desc, *weight.desc, *out.desc, workspace);
  read_table(weight, s.weight);
  if (bias) read_table(*bias, s.bias);
  const NormRows rows{.how = how,
                      .dtype = x.dtype(),
                      .length = s.length,
                      .x = s.x.read(x),
                      .weight = s.weight,
                      .bias = s.bias,
                      .out = s.out.to_write(out)};
  parallel_for(s.rows, std::max<std::int64_t>(1, least_elements / s.length), [&](std::int64_t first, std::int64_t last) {
    HWY_DYNAMIC_DISPATCH(forward_rows)(rows, first, last);
  });
  s.out.write_back(out);
}

std::size_t row_norm_back_workspace(const Desc& grad, const Desc& x, const Desc& weight, const Desc& out) {
  if (x.count() == 0) return 0;
  Workspace workspace;
  (void)BackwardSpace(grad, x, weight, out, workspace);
  return workspace.used();
}

void row_norm_back(const RowNorm& how, const View& grad, const View& x, const View& weight, const View& out,
                   const View& weight_out, const View* bias_out, std::span<std::byte> bytes) {
  if (x.count() == 0) {
    clear(weight_out);
    if (bias_out) clear(*bias_out);
    return;
  }
  Workspace workspace(bytes);
  const BackwardSpace s(*grad.desc, *x.desc, *weight.desc, *out.desc, workspace);
  read_table(weight, s.weight);
  const NormRows rows{.how = how,
                      .dtype = x.dtype(),
                      .length = s.length,
                      .grad = s.grad.read(grad),
                      .x = s.x.read(x),
                      .weight = s.weight,
                      .out = s.out.to_write(out)};
  parallel_for(s.blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      double* sums = s.sums + 2 * s.table * block;
      std::fill_n(sums, 2 * s.table, 0.0);
      HWY_DYNAMIC_DISPATCH(backward_rows)(rows, block * s.block, std::min(s.rows, (block + 1) * s.block), sums, sums + s.table);
    }
  });
  for (std::int64_t block = 1; block < s.blocks; ++block)
    for (std::int64_t j = 0; j < 2 * s.table; ++j) s.sums[j] += s.sums[block * 2 * s.table + j];
  write_table(s.sums, weight_out);
  if (bias_out) write_table(s.sums + s.table, *bias_out);
  s.out.write_back(out);
}

}  // namespace regrow::kernels
#endif
