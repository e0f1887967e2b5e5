// SPDX-License-Identifier: Apache-2.0
// Two-dimensional convolution and its two adjoints: directly where an image has a few channels and for the weight of a depthwise
// one, by oneDNN where it has a good implementation, by products over unrolled windows otherwise. Re-entrant. Any thread. Bits depend
// on operands, shapes, strides and the number of kernel threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "regrow/tensor/view.h"

namespace regrow::kernels {

using Pair = std::array<std::int64_t, 2>;  // along height and width

// image (batch, in_channels, in), weight (out_channels, in_channels / groups, kernel), result (batch, out_channels, out).
struct Convolution {
  std::int64_t batch = 0, in_channels = 0, out_channels = 0, groups = 1;
  Pair in{}, kernel{}, out{};
  Pair stride{1, 1}, padding{0, 0}, dilation{1, 1};

  double macs() const;
};

// Which of the three is computed from the two others: the result; the image's gradient from the result's and the weight; the
// weight's gradient from the image and the result's.
enum class ConvolutionPass : std::uint8_t { result, image, weight };

// `a` and `b` in the order image, result, weight without the computed one: (image, weight), (result, weight), (image, result).
std::size_t convolution_workspace(ConvolutionPass pass, const Convolution& shape, const Desc& a, const Desc& b, const Desc& out);

// Operands have any strides and one floating type; an image or a result is written channels-last, a weight contiguous. f16
// computes in f32, bf16 accumulates in f32.
void convolve(ConvolutionPass pass, const Convolution& shape, const View& a, const View& b, const View& out,
              std::span<std::byte> workspace);

}  // namespace regrow::kernels
