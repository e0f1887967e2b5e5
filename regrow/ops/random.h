// SPDX-License-Identifier: Apache-2.0
// What random operators share. Element i of a result, counted row-major, depends on (key, counter, i) alone. Any thread.
#pragma once

#include <algorithm>

#include "regrow/kernels/elementwise.h"
#include "regrow/kernels/parallel.h"
#include "regrow/kernels/random.h"
#include "regrow/ops/op.h"

namespace regrow::random {

inline constexpr std::size_t tile = kernels::tile_size;

inline kernels::RandomStream stream(const RandomState& state) { return {state.key, state.counter}; }

// Calls body(first, n) for tiles that cover [0, count), from several threads if there are many.
template <class Body>
void for_tiles(std::int64_t count, Body&& body) {
  constexpr auto size = static_cast<std::int64_t>(tile);
  kernels::parallel_for((count + size - 1) / size, 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin * size; first < std::min(count, end * size); first += size)
      body(static_cast<std::uint64_t>(first), static_cast<std::size_t>(std::min(size, count - first)));
  });
}

// Converts n elements of a tile to the type of `out` and writes them from element `first` on; `out` is contiguous.
template <class T>
void store(const T* values, const View& out, std::uint64_t first, std::size_t n) {
  const void* from = values;
  kernels::convert(dtype_of<T>(), out.dtype()).fn(&from, out.data + first * size_of(out.dtype()), n);
}

// `dtypes`: the attribute's type, which must be floating.
void floating_dtype(std::span<const DType> in, const Attrs& attrs, std::span<DType> out);

// A distribution of floating numbers: its shape, its parameters, then type and device. `infer` checks the parameters.
OpDef distribution(std::string_view doc, std::vector<AttrSpec> parameters, void (*infer)(const InferCall& call),
                   void (*compute)(const ComputeCall& call));

// How many of the 2^32 words are below probability p.
std::uint64_t word_threshold(double p);

// Where the standard normal distribution reaches p, of (0, 1), to about 1e-16 (Wichura, algorithm AS 241, 1988); and how much of it
// lies below x.
double normal_quantile(double p) noexcept;
double normal_below(double x) noexcept;

}  // namespace regrow::random
