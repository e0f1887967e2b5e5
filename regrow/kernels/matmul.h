// SPDX-License-Identifier: Apache-2.0
// Matrix products of strided, batched operands in every number type: by oneDNN where it is good (f32, bf16), by the engine's own
// product otherwise. Re-entrant. Any thread. Bits depend on operands, shapes, strides and the number of kernel threads.
#pragma once

#include <cstddef>
#include <span>

#include "regrow/tensor/view.h"

namespace regrow::kernels {

// What is needed to run matmul on such operands: copies of operands that no product can read where they are or that are of another
// type than the product computes in, scratch of oneDNN.
std::size_t matmul_workspace(const Desc& a, const Desc& b, const Desc& out);

// out (…, m, n) = a (…, m, k) b (…, k, n). Leading axes broadcast; a vector on the left is a row, on the right a column, and the axis
// is not in out. out is contiguous, of a number type; operands of another type are converted to it. f16 computes in f32, bf16
// accumulates in f32, integers wrap around.
void matmul(const View& a, const View& b, const View& out, std::span<std::byte> workspace);

}  // namespace regrow::kernels
