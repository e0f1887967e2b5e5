// SPDX-License-Identifier: Apache-2.0
// Convolutions of images with a few channels, such as the first of a network: windows are read where they are, one vector of the
// result's channels at a time. oneDNN needs twice the time for these if its result is to be channels-last. Re-entrant. Any
// thread. The bits of an element depend on its operands alone.
#pragma once

#include "regrow/kernels/convolution.h"

namespace regrow::kernels {

// Whether a shape is one of these.
bool is_narrow(const Convolution& shape);
// Bytes of scratch of each of `parts` threads.
std::size_t narrow_scratch(const Convolution& shape);
// f32. The image has any strides, the weight is contiguous, the result channels-last. `scratch` is that of all parts, one behind
// the other, each rounded up to 64 bytes.
void narrow_convolution(const Convolution& shape, const View& image, const View& weight, const View& out, int parts,
                        std::byte* scratch);

}  // namespace regrow::kernels
