// SPDX-License-Identifier: Apache-2.0
// Batches of matrix products by oneDNN: f32, and bf16 with f32 accumulation, on one thread. Re-entrant. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "regrow/tensor/dtype.h"

namespace regrow::kernels::dnnl {

// C[i] (m, n) = A[i] (m, k) B[i] (k, n) for i < batch, all of one type. Strides are in elements; rows or columns of each matrix lie
// together (one of the two strides is 1, the other at least the length of such a run), C is row-major.
struct MatmulProblem {
  DType dtype = DType::f32;
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  std::int64_t a_batch = 0, a_row = 0, a_col = 1;
  std::int64_t b_batch = 0, b_row = 0, b_col = 1;
  std::int64_t c_batch = 0, c_row = 0;
};

// Whether oneDNN has a good implementation here (AVX-512), and the bytes of scratch that it wants.
struct MatmulPlan {
  bool available = false;
  std::size_t scratch = 0;
};
MatmulPlan plan_matmul(const MatmulProblem& problem);
void run_matmul(const MatmulProblem& problem, const void* a, const void* b, void* c, void* scratch);

}  // namespace regrow::kernels::dnnl
