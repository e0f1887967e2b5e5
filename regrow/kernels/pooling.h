// SPDX-License-Identifier: Apache-2.0
// Two-dimensional pooling over windows: maxima, what stands where they are, sums back to where they are, and means. Re-entrant.
// Any thread. An element's bits depend on its operands alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "regrow/tensor/view.h"

namespace regrow::kernels {

// Images (batch, channels, in), windows, results (batch, channels, out). Every window holds at least one element of the image.
struct Pooling {
  std::int64_t batch = 0, channels = 0;
  std::array<std::int64_t, 2> in{}, window{}, out{};  // height, width; adaptive: the largest window
  std::array<std::int64_t, 2> stride{}, padding{};
  bool adaptive = false;       // window i is [floor(i in / out), ceil((i + 1) in / out)), without stride and padding
  bool counts_padding = true;  // means: whether elements of the padding count
  std::int64_t divisor = 0;    // means: what sums are divided by; 0: the number of elements

  std::int64_t area() const { return window[0] * window[1]; }
};

// All tensors are of one floating type and of any strides. A window's winner is its first NaN, or else its first largest element,
// row by row; the padding never wins.

// out (results) = the element of `values` (an image) where `x` (an image) has the window's winner.
void max_pool(const Pooling& shape, const View& values, const View& x, const View& out);
// out (an image, dense) = for each element the sum of grad (results) over the windows in which it is the winner of x.
void max_pool_back(const Pooling& shape, const View& grad, const View& x, const View& out, std::span<std::byte> workspace);

// out (results) = the sum of each window over its divisor. A window counts the padding that it holds, not what is beyond it.
void mean_pool(const Pooling& shape, const View& x, const View& out);
// out (an image, dense) = for each element the sum of grad / divisor over the windows that hold it.
void mean_pool_back(const Pooling& shape, const View& grad, const View& out, std::span<std::byte> workspace);

// Of the two that go back: 16-bit types are added up in f32.
std::size_t pool_back_workspace(const Desc& out);

}  // namespace regrow::kernels
