// SPDX-License-Identifier: Apache-2.0
// Loops over a dense matrix whose columns each have numbers of their own, at the best SIMD level of this machine: what batch and
// group normalization are made of. Everything is computed in f64 and rounded once, whatever the element type. Re-entrant. Any
// thread. A column's bits depend on that column alone, and not on the SIMD level.
#pragma once

#include <cstddef>
#include <cstdint>

#include "regrow/tensor/view.h"

namespace regrow::kernels {

// f16, bf16, f32 or f64, row after row.
struct Columns {
  std::int64_t rows = 0, columns = 0;
  DType dtype = DType::f32;
};

// Elements that a table of one number a column must have room for: these loops work on whole vectors.
constexpr std::int64_t column_capacity(std::int64_t columns) { return (columns + 15) / 16 * 16; }

// Numbers of any type and strides as a dense table, with zeros behind them; and back, rounded.
void read_table(const View& numbers, double* table);
void write_table(const double* table, const View& out);

// sum[j] = sum over i of d, square[j] = sum of d^2, d = x[i][j] - shift[j]
void column_moments(const Columns& m, const std::byte* x, const double* shift, double* sum, double* square);
// sum[j] = sum over i of grad[i][j], product[j] = sum of grad[i][j] (x[i][j] - center[j])
void column_products(const Columns& m, const std::byte* grad, const std::byte* x, const double* center, double* sum,
                     double* product);
// out[i][j] = (x[i][j] - center[j]) scale[j] + shift[j]; out may be x.
void column_scale(const Columns& m, const std::byte* x, const double* center, const double* scale, const double* shift,
                  std::byte* out);
// out[i][j] = grad[i][j] a[j] + (x[i][j] - center[j]) b[j] + c[j]; out may be grad or x.
void column_combine(const Columns& m, const std::byte* grad, const std::byte* x, const double* center, const double* a,
                    const double* b, const double* c, std::byte* out);

}  // namespace regrow::kernels
