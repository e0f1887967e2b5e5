// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <type_traits>

#include "regrow/kernels/parallel.h"
#include "regrow/kernels/reduce.h"
#include "regrow/kernels/reduction.h"
#include "regrow/tensor/visit.h"

namespace regrow::kernels {
namespace {

struct Job {
  const Reduction& plan;
  const FoldLoops& loops;
  bool largest;
};

// Whether `x`, met later, takes the place of `best`. Bit operators: the loops over columns become vector code.
template <class A>
bool beats(A x, A best, bool largest) {
  return (largest ? x > best : x < best) | ((x != x) & (best == best));
}

// The first of x[0 … n) that equals `wanted`, or is NaN where that is.
template <class A>
std::int64_t first_like(const A* x, std::int64_t n, A wanted) {
  std::int64_t i = 0;
  if (wanted != wanted) {
    while (i < n && x[i] == x[i]) ++i;
  } else {
    while (i < n && x[i] != wanted) ++i;
  }
  return i;
}

// One result: of each block the extreme first, and its place only if it is the best so far.
template <class T, class A>
std::int64_t arg_of_elements(const Job& job, const T* x) {
  T gathered[fold_block];
  A converted[fold_block], best{}, extreme{};
  std::int64_t at = -1;
  ReductionCursor cursor(job.plan);
  for (std::int64_t r = 0; r < job.plan.count; r += fold_block) {
    const std::int64_t n = std::min(fold_block, job.plan.count - r);
    const T* block = next_elements(x, cursor, n, gathered);
    job.loops.block(block, n, &extreme);
    if (at >= 0 && !beats(extreme, best, job.largest)) continue;
    best = extreme;
    job.loops.assign(block, n, converted);
    at = r + first_like(converted, n, best);
  }
  return at;
}

// Up to reduction_tile neighbouring results at once. Index is as wide as A where it can be: the inner loop becomes vector code.
template <class T, class A, class Index>
void arg_across(const Job& job, const T* x, std::int64_t n, std::int64_t step, std::int64_t* found) {
  T gathered[reduction_tile];
  A row[reduction_tile], best[reduction_tile];
  Index at[reduction_tile] = {};
  ReductionCursor cursor(job.plan);
  for (std::int64_t r = 0; r < job.plan.count; ++r, cursor.advance(1)) {
    const T* from = x + cursor.offset();
    if (step != 1) {
      for (std::int64_t i = 0; i < n; ++i) gathered[i] = from[i * step];
      from = gathered;
    }
    job.loops.assign(from, n, r == 0 ? best : row);
    if (r == 0) continue;
    const auto here = static_cast<Index>(r);
    for (std::int64_t i = 0; i < n; ++i) {
      const bool better = beats(row[i], best[i], job.largest);
      best[i] = better ? row[i] : best[i];
      at[i] = better ? here : at[i];
    }
  }
  std::copy_n(at, n, found);
}

template <class T, class A>
void arg_of_tile(const Job& job, const T* x, std::int64_t n, bool columns, std::int64_t* found) {
  const std::int64_t step = job.plan.kept_in.back();
  if (!columns) {
    for (std::int64_t i = 0; i < n; ++i) found[i] = arg_of_elements<T, A>(job, x + i * step);
  } else if (job.plan.count <= std::numeric_limits<std::int32_t>::max()) {
    arg_across<T, A, std::conditional_t<sizeof(A) == 8, std::int64_t, std::int32_t>>(job, x, n, step, found);
  } else {
    arg_across<T, A, std::int64_t>(job, x, n, step, found);
  }
}

template <class T, class A>
void arg_reduce_as(const Job& job, const View& x, const View& out) {
  constexpr std::int64_t worth = 1 << 16;  // elements that are worth waking a thread for
  const bool columns = by_columns(job.plan);
  const std::int64_t results_a_tile = columns ? reduction_tile : std::clamp<std::int64_t>(worth / job.plan.count, 1, reduction_tile);
  const std::int64_t tiles = tiles_of(job.plan, results_a_tile), step = job.plan.kept_out.back();
  const std::int64_t grain = std::max<std::int64_t>(1, worth * tiles / (element_count(job.plan.kept) * job.plan.count));
  parallel_for(tiles, grain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t found[reduction_tile];
    for (std::int64_t k = begin; k < end; ++k) {
      const ReductionTile tile = tile_of(job.plan, results_a_tile, k);
      arg_of_tile<T, A>(job, x.as<const T>() + tile.from, tile.results, columns, found);
      std::int64_t* result = out.as<std::int64_t>() + tile.to;
      for (std::int64_t i = 0; i < tile.results; ++i) result[i * step] = found[i];
    }
  });
}

}  // namespace

void arg_reduce(Fold max_or_min, const View& x, const Dims& axes, const View& out) {
  if (out.count() == 0) return;
  const Reduction plan = plan_reduction(*x.desc, axes, *out.desc);
  const DType accumulator = accumulator_of(max_or_min, x.dtype(), x.dtype());
  const Job job{plan, fold_loops(max_or_min, x.dtype(), accumulator), max_or_min == Fold::max};
  visit_type(x.dtype(), [&]<class T>(Type<T>) {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) arg_reduce_as<T, float>(job, x, out);
    else arg_reduce_as<T, T>(job, x, out);
  });
}

}  // namespace regrow::kernels
