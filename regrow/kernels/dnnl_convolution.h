// SPDX-License-Identifier: Apache-2.0
// Convolutions by oneDNN on one thread: f32 and bf16, channels-last images, weights in their canonical order. Re-entrant. Any
// thread.
#pragma once

#include "regrow/kernels/convolution.h"
#include "regrow/tensor/dtype.h"

namespace regrow::kernels::dnnl {

// Whether oneDNN has an implementation that neither allocates nor crawls, and the bytes of scratch: the weights in the layout
// that it likes, and its own.
struct ConvolutionPlan {
  bool available = false;
  std::size_t scratch = 0;
};
ConvolutionPlan plan_convolution(ConvolutionPass pass, DType dtype, const Convolution& shape);

// Operands as convolve() names them. Gradients of weights are written as f32.
void run_convolution(ConvolutionPass pass, DType dtype, const Convolution& shape, const void* a, const void* b, void* out,
                     std::byte* scratch);

}  // namespace regrow::kernels::dnnl
