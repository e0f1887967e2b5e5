// SPDX-License-Identifier: Apache-2.0
// The size classes of small blocks and the slabs that hold them: steps of 64 bytes up to 512, then four per doubling up to 32 KiB.
// Any thread.
//
// Waste: a block of b bytes occupies less than b + max(64, b / 4); a full slab has at most 1/8 of its bytes outside blocks.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace regrow::machine {

inline constexpr std::size_t largest_small = std::size_t{32} << 10;  // from here on: runs of granules
inline constexpr std::size_t size_classes = 32;

// Requires 0 < bytes <= largest_small.
constexpr std::uint32_t size_class(std::size_t bytes) noexcept {
  const auto last = static_cast<std::uint32_t>(bytes - 1);
  if (last < 512) return last / 64;
  const auto width = static_cast<std::uint32_t>(std::bit_width(last));  // 10: 513 to 1024 bytes
  return 8 + (width - 10) * 4 + (last >> (width - 3)) - 4;
}

struct SizeClass {
  std::uint32_t bytes = 0;       // of a block
  std::uint32_t granules = 0;    // of a slab
  std::uint32_t blocks = 0;      // in a slab
  std::uint32_t reciprocal = 0;  // (offset * reciprocal) >> 32: number of the block at this offset
};

constexpr std::array<SizeClass, size_classes> make_size_classes(std::uint32_t granule_bytes) noexcept {
  std::array<SizeClass, size_classes> table{};
  for (std::uint32_t c = 0; c < size_classes; ++c) {
    const std::uint32_t bytes = c < 8 ? (c + 1) * 64 : (5 + c % 4) << ((c - 8) / 4 + 7);
    const std::uint32_t granules = granule_bytes % bytes * 8 <= granule_bytes ? 1 : 2;
    table[c] = {bytes, granules, granule_bytes * granules / bytes, static_cast<std::uint32_t>((std::uint64_t{1} << 32) / bytes + 1)};
  }
  return table;
}

inline constexpr auto size_class_table = make_size_classes(64u << 10);

}  // namespace regrow::machine
