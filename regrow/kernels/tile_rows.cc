// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/tile_rows.h"

#include <algorithm>
#include <cstring>

namespace regrow::kernels {
namespace {

// Calls row(offset of its first element, length) for the pieces of rows that hold positions [first, first + n).
template <class Row>
void for_rows(const TileSpace& space, const std::int64_t* strides, std::int64_t first, std::size_t n, Row&& row) {
  std::int64_t index[max_rank];
  std::int64_t offset = 0;
  for (int axis = 0; axis < space.rank; ++axis) {
    index[axis] = axis + 1 == space.rank ? first : first % space.size[axis];
    first /= space.size[axis];
    offset += index[axis] * strides[axis];
  }
  auto left = static_cast<std::int64_t>(n);
  for (;;) {
    const std::int64_t length = std::min(left, space.size[0] - index[0]);
    row(offset, length);
    left -= length;
    if (left == 0) return;
    offset -= index[0] * strides[0];
    index[0] = 0;
    for (int axis = 1; axis < space.rank; ++axis) {
      offset += strides[axis];
      if (++index[axis] < space.size[axis]) break;
      offset -= strides[axis] * space.size[axis];
      index[axis] = 0;
    }
  }
}

template <class Unit>
void gather_units(const TileSpace& space, const std::int64_t* strides, const std::byte* data, std::int64_t first, std::size_t n,
                  void* buffer) {
  const auto* from = reinterpret_cast<const Unit*>(data);
  auto* to = static_cast<Unit*>(buffer);
  const std::int64_t stride = strides[0];
  for_rows(space, strides, first, n, [&](std::int64_t offset, std::int64_t length) {
    const Unit* row = from + offset;
    if (stride == 1) {
      std::copy_n(row, length, to);
    } else if (stride == 0) {
      std::fill_n(to, length, *row);
    } else {
      for (std::int64_t i = 0; i < length; ++i) to[i] = row[i * stride];
    }
    to += length;
  });
}

template <class Unit>
void scatter_units(const TileSpace& space, const std::int64_t* strides, std::byte* data, std::int64_t first, std::size_t n,
                   const void* buffer) {
  const auto* from = static_cast<const Unit*>(buffer);
  auto* to = reinterpret_cast<Unit*>(data);
  const std::int64_t stride = strides[0];
  for_rows(space, strides, first, n, [&](std::int64_t offset, std::int64_t length) {
    Unit* row = to + offset;
    for (std::int64_t i = 0; i < length; ++i) row[i * stride] = from[i];
    from += length;
  });
}

template <class Unit>
void gather_panel_units(const Panel& panel, const std::byte* data, std::size_t n, std::byte* to) {
  constexpr std::size_t block = 8;  // columns whose lines stay in the first cache even if all fall into one set
  const auto* from = reinterpret_cast<const Unit*>(data);
  for (std::size_t first = 0; first < n; first += block) {
    const std::size_t end = std::min(n, first + block);
    for (std::int64_t r = 0; r < panel.rows; ++r) {
      auto* row = reinterpret_cast<Unit*>(to + static_cast<std::size_t>(r) * panel.pitch);
      const Unit* source = from + r * panel.row_stride;
      for (std::size_t c = first; c < end; ++c) row[c] = source[static_cast<std::int64_t>(c) * panel.column_stride];
    }
  }
}

template <class Unit>
void fill_units(void* to, const void* value, std::size_t n) {
  Unit unit;
  std::memcpy(&unit, value, sizeof unit);
  std::fill_n(static_cast<Unit*>(to), n, unit);
}

}  // namespace

void gather(const TileSpace& space, const std::int64_t* strides, const std::byte* data, std::size_t element, std::int64_t first,
            std::size_t n, void* to) noexcept {
  switch (element) {
    case 1: return gather_units<std::uint8_t>(space, strides, data, first, n, to);
    case 2: return gather_units<std::uint16_t>(space, strides, data, first, n, to);
    case 4: return gather_units<std::uint32_t>(space, strides, data, first, n, to);
    default: return gather_units<std::uint64_t>(space, strides, data, first, n, to);
  }
}

void scatter(const TileSpace& space, const std::int64_t* strides, std::byte* data, std::size_t element, std::int64_t first,
             std::size_t n, const void* from) noexcept {
  switch (element) {
    case 1: return scatter_units<std::uint8_t>(space, strides, data, first, n, from);
    case 2: return scatter_units<std::uint16_t>(space, strides, data, first, n, from);
    case 4: return scatter_units<std::uint32_t>(space, strides, data, first, n, from);
    default: return scatter_units<std::uint64_t>(space, strides, data, first, n, from);
  }
}

void gather_panel(const Panel& panel, const std::byte* data, std::size_t element, std::size_t n, std::byte* to) noexcept {
  switch (element) {
    case 1: return gather_panel_units<std::uint8_t>(panel, data, n, to);
    case 2: return gather_panel_units<std::uint16_t>(panel, data, n, to);
    case 4: return gather_panel_units<std::uint32_t>(panel, data, n, to);
    default: return gather_panel_units<std::uint64_t>(panel, data, n, to);
  }
}

void fill(void* to, const void* value, std::size_t element, std::size_t n) noexcept {
  switch (element) {
    case 1: return fill_units<std::uint8_t>(to, value, n);
    case 2: return fill_units<std::uint16_t>(to, value, n);
    case 4: return fill_units<std::uint32_t>(to, value, n);
    default: return fill_units<std::uint64_t>(to, value, n);
  }
}

}  // namespace regrow::kernels
