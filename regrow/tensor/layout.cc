// SPDX-License-Identifier: Apache-2.0
#include "regrow/tensor/layout.h"

#include <algorithm>
#include <numeric>

#include "regrow/base/error.h"

namespace regrow {
namespace {

// Axes of `shape` from outermost to innermost by stride, ties in axis order.
Dims axis_order(const Shape& shape, const Strides& strides) {
  Dims order = Dims::filled(shape.size(), 0);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {  // stable_sort would allocate
    const std::int64_t left = strides[static_cast<std::size_t>(a)], right = strides[static_cast<std::size_t>(b)];
    return left != right ? left > right : a < b;
  });
  return order;
}

bool strides_match(const Shape& shape, const Strides& strides, const Strides& wanted) noexcept {
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1 && strides[i] != wanted[i]) return false;
  return true;
}

}  // namespace

Strides contiguous_strides(const Shape& shape) {
  Strides strides = Dims::filled(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<std::int64_t>(shape[i], 1);
  return strides;
}

Strides channels_last_strides(const Shape& s) {
  require(s.size() == 4, "channels-last needs 4 axes, not {}", s.size());
  const std::int64_t c = std::max<std::int64_t>(s[1], 1), h = std::max<std::int64_t>(s[2], 1), w = std::max<std::int64_t>(s[3], 1);
  return {c * h * w, 1, c * w, c};
}

bool is_contiguous(const Shape& shape, const Strides& strides) noexcept {
  return element_count(shape) == 0 || strides_match(shape, strides, contiguous_strides(shape));
}

bool is_channels_last(const Shape& shape, const Strides& strides) noexcept {
  return shape.size() == 4 && (element_count(shape) == 0 || strides_match(shape, strides, channels_last_strides(shape)));
}

bool is_dense(const Shape& shape, const Strides& strides) noexcept {
  if (element_count(shape) == 0) return true;
  std::int64_t expected = 1;
  const Dims order = axis_order(shape, strides);
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[i]);
    if (shape[axis] == 1) continue;
    if (strides[axis] != expected) return false;
    expected *= shape[axis];
  }
  return true;
}

Strides dense_strides_like(const Shape& shape, const Shape& like_shape, const Strides& like) {
  if (shape.size() != like_shape.size() || is_contiguous(like_shape, like)) return contiguous_strides(shape);
  for (std::size_t i = 0; i < like.size(); ++i)
    if (like_shape[i] > 1 && like[i] == 0) return contiguous_strides(shape);  // a repeated axis has no place in the order
  Strides magnitudes = like;
  for (std::int64_t& stride : magnitudes) stride = std::abs(stride);
  const Dims order = axis_order(like_shape, magnitudes);
  Strides strides = Dims::filled(shape.size(), 1);
  std::int64_t step = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[i]);
    strides[axis] = step;
    step *= std::max<std::int64_t>(shape[axis], 1);
  }
  return strides;
}

Extent extent_of(const Shape& shape, const Strides& strides) noexcept {
  if (element_count(shape) == 0) return {};
  Extent extent{0, 1};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t reach = strides[i] * (shape[i] - 1);
    (reach < 0 ? extent.first : extent.last) += reach;
  }
  return extent;
}

Shape broadcast_shapes(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape out = longer;
  const std::size_t shift = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::int64_t& size = out[i + shift];
    if (size == 1) size = shorter[i];
    else require(shorter[i] == 1 || shorter[i] == size, "shapes {} and {} do not broadcast", to_string(a), to_string(b));
  }
  return out;
}

Strides broadcast_strides(const Shape& from, const Strides& strides, const Shape& to) {
  Strides out = Dims::filled(to.size(), 0);
  const std::size_t shift = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] != 1 || to[i + shift] == 1) out[i + shift] = strides[i];
  return out;
}

bool reshape_strides(const Shape& from, const Strides& strides, const Shape& to, Strides& out) {
  out = contiguous_strides(to);
  if (element_count(from) == 0 || is_contiguous(from, strides)) return true;
  // Both shapes are cut into the shortest groups of equal size; within a group of `from` the strides must chain.
  std::size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    std::int64_t a = i < from.size() ? from[i] : 1, b = j < to.size() ? to[j] : 1;
    std::size_t i_end = std::min(i + 1, from.size()), j_end = std::min(j + 1, to.size());
    while (a != b) {
      if (a < b) a *= from[i_end++];
      else b *= to[j_end++];
    }
    bool found = false;     // an axis longer than 1
    std::int64_t step = 1;  // stride of the innermost of them
    std::int64_t expected = 0;
    for (std::size_t k = i_end; k-- > i;) {
      if (from[k] == 1) continue;
      if (!found) found = true, step = strides[k];
      else if (strides[k] != expected) return false;
      expected = strides[k] * from[k];
    }
    for (std::size_t k = j_end; k-- > j;) out[k] = step, step *= to[k];
    i = i_end, j = j_end;
  }
  return true;
}

}  // namespace regrow
