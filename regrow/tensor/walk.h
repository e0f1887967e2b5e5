// SPDX-License-Identifier: Apache-2.0
// Walking the elements of strided tensors in row-major index order. Any thread.
#pragma once

#include <array>
#include <cstring>
#include <tuple>
#include <type_traits>

#include "regrow/tensor/view.h"

namespace regrow {

// Calls body(offset_0, offset_1, …), offsets in elements of each operand, once for every index of `shape`, the last axis innermost.
template <std::size_t N, class Body>
void walk(const Shape& shape, const std::array<Strides, N>& strides, Body&& body) {
  if (element_count(shape) == 0) return;
  std::array<std::int64_t, N> at{};
  Dims index = Dims::filled(shape.size(), 0);
  for (;;) {
    std::apply([&](auto... offset) { body(offset...); }, at);
    std::size_t axis = shape.size();
    for (;;) {
      if (axis-- == 0) return;
      if (++index[axis] < shape[axis]) {
        for (std::size_t k = 0; k < N; ++k) at[k] += strides[k][axis];
        break;
      }
      index[axis] = 0;
      for (std::size_t k = 0; k < N; ++k) at[k] -= strides[k][axis] * (shape[axis] - 1);
    }
  }
}

// The elements of the view, row-major, to `to`; neither needs to be aligned.
inline void copy_strided(const View& from, std::byte* to) {
  const std::size_t size = size_of(from.dtype());
  if (from.count() == 0) return;
  if (from.contiguous()) {
    std::memcpy(to, from.data, static_cast<std::size_t>(from.count()) * size);
    return;
  }
  auto copy = [&]<std::size_t bytes>(std::integral_constant<std::size_t, bytes>) {
    walk<1>(from.shape(), {from.strides()}, [&](std::int64_t offset) {
      std::memcpy(to, from.data + offset * static_cast<std::int64_t>(bytes), bytes);
      to += bytes;
    });
  };
  switch (size) {
    case 1: return copy(std::integral_constant<std::size_t, 1>{});
    case 2: return copy(std::integral_constant<std::size_t, 2>{});
    case 4: return copy(std::integral_constant<std::size_t, 4>{});
    default: return copy(std::integral_constant<std::size_t, 8>{});
  }
}

}  // namespace regrow
