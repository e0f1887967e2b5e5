// SPDX-License-Identifier: Apache-2.0
// Loops over one dense row of f32 or f64, at the best SIMD level of this machine: what softmax and its kin are made of.
// Re-entrant. Any thread. The bits of a result depend on the row alone.
#pragma once

#include <cstdint>

namespace regrow::kernels {

// Elements that a row's buffer must have room for: these loops work on whole vectors. The buffer is aligned to 64 bytes; what
// stands behind the row is overwritten.
constexpr std::int64_t row_capacity(std::int64_t n) { return (n + 15) / 16 * 16; }

template <class T>
struct RowMass {
  T max = 0;  // of the row; NaN or not if it holds a NaN
  T sum = 0;  // of exp(x - max); NaN if the row holds a NaN, or nothing but -inf
};

// Of a row of at least one element.
RowMass<float> row_mass(float* row, std::int64_t n);
RowMass<double> row_mass(double* row, std::int64_t n);
// row[i] = exp(row[i] - max) / sum
void row_softmax(float* row, std::int64_t n);
void row_softmax(double* row, std::int64_t n);
// row[i] = exp(scale row[i] - max), with the maximum of the scaled row and `floor`; gives that maximum and the sum. Where the maximum
// is -inf the row becomes 0.
RowMass<float> row_exponentials(float* row, std::int64_t n, float scale, float floor);
RowMass<double> row_exponentials(double* row, std::int64_t n, double scale, double floor);
// row[i] = exp(scale row[i] - shift)
void row_weights(float* row, std::int64_t n, float scale, float shift);
void row_weights(double* row, std::int64_t n, double scale, double shift);
// grad[i] = weight[i] (grad[i] - mean) scale
void row_score_gradient(const float* weight, float* grad, std::int64_t n, float mean, float scale);
void row_score_gradient(const double* weight, double* grad, std::int64_t n, double mean, double scale);
// row[i] = (row[i] - a) - b
void row_subtract(float* row, std::int64_t n, float a, float b);
void row_subtract(double* row, std::int64_t n, double a, double b);

}  // namespace regrow::kernels
