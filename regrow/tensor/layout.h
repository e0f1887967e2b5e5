// SPDX-License-Identifier: Apache-2.0
// How a shape lies in memory: strides in elements, and the rules of broadcasting (NumPy's). Pure functions. Any thread.
#pragma once

#include <cstdint>

#include "regrow/tensor/dims.h"

namespace regrow {

Strides contiguous_strides(const Shape& shape);    // row-major; the last axis is innermost
Strides channels_last_strides(const Shape& nchw);  // of a 4-d (N, C, H, W): C innermost, then W, H, N
// Row-major, or the channels-last order; axes of length 1 may have any stride; an empty tensor is both.
bool is_contiguous(const Shape& shape, const Strides& strides) noexcept;
bool is_channels_last(const Shape& nchw, const Strides& strides) noexcept;
// Every element of [0, count) is met exactly once, in some axis order: such a tensor can be walked as one flat run.
bool is_dense(const Shape& shape, const Strides& strides) noexcept;
// Dense strides of `shape` whose axis order is that of `like` (an output that keeps the order of its input); row-major if `like`
// repeats an axis (stride 0) or has another number of axes.
Strides dense_strides_like(const Shape& shape, const Shape& like_shape, const Strides& like);

// The first and one past the last element touched, relative to the element at index 0 (negative strides reach below it).
struct Extent {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t count() const noexcept { return last - first; }
};
Extent extent_of(const Shape& shape, const Strides& strides) noexcept;

// The common shape of both, or Error "shapes (2, 3) and (4,) do not broadcast".
Shape broadcast_shapes(const Shape& a, const Shape& b);
// Strides that read `from` as if it had shape `to` (0 where an axis is repeated). Requires that it broadcasts.
Strides broadcast_strides(const Shape& from, const Strides& strides, const Shape& to);
// Strides of the same elements under `to`, if a view can express it.
bool reshape_strides(const Shape& from, const Strides& strides, const Shape& to, Strides& out);

}  // namespace regrow
