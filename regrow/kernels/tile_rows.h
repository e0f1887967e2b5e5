// SPDX-License-Identifier: Apache-2.0
// Moving rows of elements between strided memory and dense tiles. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "regrow/tensor/dims.h"

namespace regrow::kernels {

// The axes that a tile program walks, innermost first, already merged where every operand allows it. Flat position p stands for
// the index whose innermost coordinate is p % size[0].
struct TileSpace {
  int rank = 0;
  std::int64_t total = 1;
  std::int64_t size[max_rank] = {};
};

// n elements from flat position `first` on, to a dense buffer. `data` is the address of the element at index 0, strides are in
// elements, one for each axis of the space.
void gather(const TileSpace& space, const std::int64_t* strides, const std::byte* data, std::size_t element, std::int64_t first,
            std::size_t n, void* to) noexcept;
void scatter(const TileSpace& space, const std::int64_t* strides, std::byte* data, std::size_t element, std::int64_t first,
             std::size_t n, const void* from) noexcept;
// Rows of elements that lie closer to those of the next row than to their neighbours in the row: several rows at a time, each
// memory line once. Element (r, c) of `rows` x `n` is `r row_stride + c column_stride` elements from `data`, and goes to byte `r
// pitch + c element`.
struct Panel {
  std::int64_t row_stride = 0, column_stride = 0;
  std::int64_t rows = 0;
  std::size_t pitch = 0;
};
void gather_panel(const Panel& panel, const std::byte* data, std::size_t element, std::size_t n, std::byte* to) noexcept;
// n copies of one element.
void fill(void* to, const void* value, std::size_t element, std::size_t n) noexcept;

}  // namespace regrow::kernels
