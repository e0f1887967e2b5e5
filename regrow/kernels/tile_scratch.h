// SPDX-License-Identifier: Apache-2.0
// Tiles that values pass through, one set for each thread. Any thread, each its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "regrow/kernels/thread_memory.h"
#include "regrow/kernels/tile.h"

namespace regrow::kernels {

inline constexpr std::int64_t parallel_elements = std::int64_t{256} << 10;  // from here on several threads share the work
inline constexpr std::int64_t piece_elements = std::int64_t{32} << 10;      // what one thread takes at a time, at least

// Tiles begin on page bounds, so that a kernel which reads one tile and writes another at the same position never reads an
// address that only looks like one it has just written.
class TileScratch {
 public:
  static constexpr std::size_t tile_bytes = tile_size * 8;

  // Tiles 0 … count-1 exist from now on; their contents are lost if there were fewer.
  void reserve(std::size_t count) { memory_.reserve(count * tile_bytes); }
  std::byte* tile(std::size_t i) noexcept { return memory_.data() + i * tile_bytes; }

  std::vector<void*> places;             // addresses for the tile at hand
  std::vector<const std::byte*> filled;  // by operand: the element that its row tile was filled with

 private:
  ThreadMemory<4096> memory_;
};

TileScratch& tile_scratch() noexcept;  // of this thread

}  // namespace regrow::kernels
