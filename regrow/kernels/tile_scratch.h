// SPDX-License-Identifier: Apache-2.0
// Tiles that values pass through, one set for each thread: grown, never shrunk, so that a warm thread allocates nothing. Any
// thread, each its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

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
  void reserve(std::size_t count) {
    if (count <= count_) return;
    memory_.reset(static_cast<std::byte*>(::operator new(count* tile_bytes, alignment)));
    count_ = count;
  }
  std::byte* tile(std::size_t i) noexcept { return memory_.get() + i * tile_bytes; }

  std::vector<void*> places;             // addresses for the tile at hand
  std::vector<const std::byte*> filled;  // by operand: the element that its row tile was filled with

 private:
  static constexpr std::align_val_t alignment{4096};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, alignment); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t count_ = 0;
};

TileScratch& tile_scratch() noexcept;  // of this thread

}  // namespace regrow::kernels
