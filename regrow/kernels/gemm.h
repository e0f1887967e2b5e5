// SPDX-License-Identifier: Apache-2.0
// The engine's own matrix product in f32 and f64, for what oneDNN does not do: f64, tiny sizes, processors without AVX-512, any
// strides. Re-entrant; allocates nothing. Any thread.
//
// An element is the sum of its K products in order, each one fused multiply-add (where the processor has it) from zero: its bits
// depend on one row of A and one column of B, not on shapes, strides or how the work was cut.
#pragma once

#include <cstdint>

namespace regrow::kernels {

// A matrix as an address and two strides in elements, of any sign.
template <class T>
struct Matrix {
  T* data = nullptr;
  std::int64_t row = 0;
  std::int64_t col = 0;
};

// C (m, n) = A (m, k) B (k, n), or C += A B.
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const float> a, Matrix<const float> b, Matrix<float> c,
          bool accumulate = false);
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const double> a, Matrix<const double> b, Matrix<double> c,
          bool accumulate = false);

}  // namespace regrow::kernels
