// SPDX-License-Identifier: Apache-2.0
// The gradient of a depthwise convolution's weight, f32, channels-last: oneDNN takes twice as long in this layout as in its own.
// Re-entrant. Any thread. The bits do not depend on the number of threads.
#pragma once

#include "regrow/kernels/convolution.h"

namespace regrow::kernels {

// Channels that one thread takes at least.
inline constexpr std::int64_t depthwise_channels = 16;

// One channel a group, in whole vectors.
bool is_depthwise(const Convolution& shape);

// Bytes of scratch of each of `parts` threads.
std::size_t depthwise_scratch(const Convolution& shape);

// Image and result channels-last, the weight's gradient contiguous. `scratch` is that of all parts, one behind the other, each
// rounded up to 64 bytes.
void depthwise_weight_gradient(const Convolution& shape, const float* image, const float* result, float* weight, int parts,
                               std::byte* scratch);

}  // namespace regrow::kernels
