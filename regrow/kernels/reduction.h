// SPDX-License-Identifier: Apache-2.0
// How a reduction walks its input: which axes stay, which go, and in which order the elements of one result are met. Any thread.
#pragma once

#include <algorithm>
#include <cstddef>

#include "regrow/tensor/view.h"

namespace regrow::kernels {

struct Reduction {
  // Axes that stay: merged where they can be, the one with the smallest step in the input last.
  Shape kept;
  Strides kept_in, kept_out;
  // Axes that go: in the order of the tensor, neighbours merged, so that walking them row-major is the logical order.
  Shape reduced;
  Strides reduced_in;
  std::int64_t count = 1;  // elements that make one result
};

// `axes` is sorted; `out` has the input's axes, those of `axes` dropped or of length 1.
Reduction plan_reduction(const Desc& x, const Dims& axes, const Desc& out);

// Results are worked on in tiles: up to `reduction_tile` neighbours along the last kept axis.
inline constexpr std::int64_t reduction_tile = 128;

struct ReductionTile {
  std::int64_t from = 0, to = 0;  // offsets of its first result in the input and in the output
  std::int64_t results = 0;
};
std::int64_t tiles_of(const Reduction& plan, std::int64_t results_a_tile);
ReductionTile tile_of(const Reduction& plan, std::int64_t results_a_tile, std::int64_t index);
// Whether a tile is walked across memory, all its results together, or result by result.
bool by_columns(const Reduction& plan);

// A position among the elements that make one result, in logical order.
class ReductionCursor {
 public:
  // At element `first`.
  explicit ReductionCursor(const Reduction& plan, std::int64_t first = 0);
  std::int64_t offset() const noexcept { return offset_; }                            // in elements
  std::int64_t run() const noexcept { return plan_.reduced.back() - index_.back(); }  // elements left along the last axis
  std::int64_t step() const noexcept { return plan_.reduced_in.back(); }
  void advance(std::int64_t count) noexcept;  // count <= run()

 private:
  const Reduction& plan_;
  Dims index_;
  std::int64_t offset_ = 0;
};

// The next n elements, dense: where they lie, if they are, otherwise copied to `buffer`.
template <class Unit>
const Unit* next_elements(const Unit* x, ReductionCursor& cursor, std::int64_t n, Unit* buffer) {
  if (cursor.step() == 1 && n <= cursor.run()) {
    const Unit* at = x + cursor.offset();
    cursor.advance(n);
    return at;
  }
  for (std::int64_t done = 0; done < n;) {
    const std::int64_t count = std::min(n - done, cursor.run()), step = cursor.step();
    const Unit* at = x + cursor.offset();
    for (std::int64_t i = 0; i < count; ++i) buffer[done + i] = at[i * step];
    cursor.advance(count);
    done += count;
  }
  return buffer;
}

}  // namespace regrow::kernels
