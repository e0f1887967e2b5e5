// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
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
};

// Whether `x`, met later, takes the place of `best`. Bit operators: the loops over columns become vector code.
template <bool largest, class A>
bool beats(A x, A best) {
  return (largest ? x > best : x < best) | ((x != x) & (best == best));
}

// Equal, or both NaN.
template <class A>
bool alike(A x, A wanted) {
  return (x == wanted) | ((x != x) & (wanted != wanted));
}

// One result: of each block the extreme first, and its place only if it is the best so far.
template <bool largest, class T, class A>
std::int64_t arg_of_elements(const Job& job, const T* x) {
  T gathered[fold_block];
  A converted[fold_block], best{}, extreme{};
  std::int64_t at = -1;
  ReductionCursor cursor(job.plan);
  for (std::int64_t r = 0; r < job.plan.count; r += fold_block) {
    const std::int64_t n = std::min(fold_block, job.plan.count - r);
    const T* block = next_elements(x, cursor, n, gathered);
    job.loops.block(block, n, &extreme);
    if (at >= 0 && !beats<largest>(extreme, best)) continue;
    best = extreme;
    job.loops.assign(block, n, converted);
    at = r;
    while (!alike(converted[at - r], best)) ++at;
  }
  return at;
}

// Up to reduction_tile neighbouring results at once: of a few rows the extremes first, and their places only where they are the
// best so far.
template <bool largest, class T, class A>
void arg_across(const Job& job, const T* x, std::int64_t n, std::int64_t step, std::int64_t* found) {
  constexpr std::int64_t rows = 64;
  T gathered[reduction_tile];
  A best[reduction_tile], extreme[reduction_tile];
  std::int64_t offsets[rows];
  ReductionCursor cursor(job.plan);
  for (std::int64_t r = 0; r < job.plan.count; r += rows) {
    const std::int64_t count = std::min(rows, job.plan.count - r);
    for (std::int64_t k = 0; k < count; ++k, cursor.advance(1)) {
      offsets[k] = cursor.offset();
      const T* row = x + cursor.offset();
      if (step != 1) {
        for (std::int64_t i = 0; i < n; ++i) gathered[i] = row[i * step];
        row = gathered;
      }
      (k == 0 ? job.loops.assign : job.loops.row)(row, n, extreme);
    }
    for (std::int64_t i = 0; i < n; ++i) {
      if (r != 0 && !beats<largest>(extreme[i], best[i])) continue;
      best[i] = extreme[i];
      std::int64_t k = 0;
      while (!alike(static_cast<A>(x[offsets[k] + i * step]), best[i])) ++k;
      found[i] = r + k;
    }
  }
}

template <bool largest, class T, class A>
void arg_of_tile(const Job& job, const T* x, std::int64_t n, bool columns, std::int64_t* found) {
  const std::int64_t step = job.plan.kept_in.back();
  if (!columns) {
    for (std::int64_t i = 0; i < n; ++i) found[i] = arg_of_elements<largest, T, A>(job, x + i * step);
  } else {
    arg_across<largest, T, A>(job, x, n, step, found);
  }
}

template <bool largest, class T, class A>
void arg_reduce_as(const Job& job, const View& x, const View& out) {
  constexpr std::int64_t worth = 1 << 16;  // elements that are worth waking a thread for
  const bool columns = by_columns(job.plan);
  const std::int64_t results_a_tile =
      columns ? reduction_tile : std::clamp<std::int64_t>(worth / job.plan.count, 1, reduction_tile);
  const std::int64_t tiles = tiles_of(job.plan, results_a_tile), step = job.plan.kept_out.back();
  const std::int64_t grain = std::max<std::int64_t>(1, worth * tiles / (element_count(job.plan.kept) * job.plan.count));
  parallel_for(tiles, grain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t found[reduction_tile];
    for (std::int64_t k = begin; k < end; ++k) {
      const ReductionTile tile = tile_of(job.plan, results_a_tile, k);
      arg_of_tile<largest, T, A>(job, x.as<const T>() + tile.from, tile.results, columns, found);
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
  const Job job{plan, fold_loops(max_or_min, x.dtype(), accumulator)};
  visit_type(x.dtype(), [&]<class T>(Type<T>) {
    using A = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;
    max_or_min == Fold::max ? arg_reduce_as<true, T, A>(job, x, out) : arg_reduce_as<false, T, A>(job, x, out);
  });
}

}  // namespace regrow::kernels
