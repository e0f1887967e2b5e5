// SPDX-License-Identifier: Apache-2.0
// Convolutions as matrix products over unrolled windows (im2col), in f32 and f64, any strides: what oneDNN does not do.
// Re-entrant. Any thread. The bits of an element depend on its operands alone.
#pragma once

#include "regrow/kernels/convolution.h"

namespace regrow::kernels {

// Bytes of scratch of each of `parts` threads.
template <class T>
std::size_t unrolled_scratch(const Convolution& shape) {
  const std::int64_t window = shape.in_channels / shape.groups * shape.kernel[0] * shape.kernel[1];
  return static_cast<std::size_t>(shape.out[1] * window) * sizeof(T);
}

// Operands as convolve() names them, of type T; weights contiguous; images and results of any strides. `scratch` is that of all
// parts, one behind the other, each rounded up to 64 bytes.
template <class T>
void unrolled_convolution(ConvolutionPass pass, const Convolution& shape, const View& a, const View& b, const View& out,
                          int parts, std::byte* scratch);

}  // namespace regrow::kernels
