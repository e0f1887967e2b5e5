// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/scan.h"

#include <algorithm>
#include <type_traits>

#include "regrow/kernels/element_types.h"
#include "regrow/kernels/parallel.h"
#include "regrow/kernels/reduction.h"
#include "regrow/tensor/visit.h"

namespace regrow::kernels {
namespace {

// What a running value is kept in, as in accumulator_of.
template <class T, Fold fold>
struct Running {
  static constexpr bool sums = fold == Fold::sum || fold == Fold::prod;
  using type =
      std::conditional_t<is_short_float<T>, float,
                         std::conditional_t<!sums, T, std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>>>;
};

template <Fold fold, class A>
A step(A so_far, A x) {
  if constexpr (fold == Fold::sum)
    return so_far + x;
  else if constexpr (fold == Fold::prod)
    return so_far * x;
  else if constexpr (fold == Fold::max)
    return ((so_far >= x) | (so_far != so_far)) ? so_far : x;
  else
    return ((so_far <= x) | (so_far != so_far)) ? so_far : x;
}

struct Line {
  std::int64_t size, from_step, to_step;  // along the axis, from the end where the scan is reversed
};

// `n` neighbouring lines at once, each `from_across` after the other.
template <Fold fold, class T>
void scan_lines(const Line& line, const T* from, std::int64_t from_across, T* to, std::int64_t to_across, std::int64_t n) {
  using A = typename Running<T, fold>::type;
  A running[reduction_tile];
  for (std::int64_t i = 0; i < n; ++i) {
    running[i] = as<A>(from[i * from_across]);
    to[i * to_across] = from[i * from_across];
  }
  for (std::int64_t k = 1; k < line.size; ++k) {
    const T* x = from + k * line.from_step;
    T* out = to + k * line.to_step;
    for (std::int64_t i = 0; i < n; ++i) {
      running[i] = step<fold>(running[i], as<A>(x[i * from_across]));
      out[i * to_across] = as<T>(running[i]);
    }
  }
}

template <Fold fold, class T>
void scan_as(const Reduction& plan, const Line& line, const T* x, T* out) {
  constexpr std::int64_t worth = 1 << 15;  // elements that are worth waking a thread for
  const std::int64_t lines_a_tile = by_columns(plan) ? reduction_tile : 1;
  const std::int64_t grain = std::max<std::int64_t>(1, worth / (lines_a_tile * line.size));
  parallel_for(tiles_of(plan, lines_a_tile), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      const ReductionTile tile = tile_of(plan, lines_a_tile, k);
      scan_lines<fold>(line, x + tile.from, plan.kept_in.back(), out + tile.to, plan.kept_out.back(), tile.results);
    }
  });
}

}  // namespace

void scan(Fold fold, const View& x, std::size_t axis, bool reverse, const View& out) {
  if (out.count() == 0) return;
  Desc ends = *out.desc;  // one element for each line
  ends.shape[axis] = 1;
  const Reduction plan = plan_reduction(*x.desc, {static_cast<std::int64_t>(axis)}, ends);
  Line line{x.shape()[axis], x.strides()[axis], out.strides()[axis]};
  const std::int64_t from = reverse ? (line.size - 1) * line.from_step : 0, to = reverse ? (line.size - 1) * line.to_step : 0;
  if (reverse) line.from_step = -line.from_step, line.to_step = -line.to_step;
  visit_type(x.dtype(), [&]<class T>(Type<T>) {
    const T* first = x.as<const T>() + from;
    switch (fold) {
      case Fold::max: return scan_as<Fold::max>(plan, line, first, out.as<T>() + to);
      case Fold::min: return scan_as<Fold::min>(plan, line, first, out.as<T>() + to);
      default: break;
    }
    if constexpr (!std::is_same_v<T, bool>)
      fold == Fold::sum ? scan_as<Fold::sum>(plan, line, first, out.as<T>() + to)
                        : scan_as<Fold::prod>(plan, line, first, out.as<T>() + to);
  });
}

}  // namespace regrow::kernels
