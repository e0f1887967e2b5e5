// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "regrow/kernels/reduce.h"
#include "regrow/kernels/reduction.h"
#include "regrow/tensor/visit.h"
#include "regrow/tensor/walk.h"

namespace regrow::kernels {
namespace {

constexpr std::int64_t columns = 128;  // results that are worked on together

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

template <class T, class A>
void arg_of_tile(const Job& job, const T* x, std::int64_t n, std::int64_t step, std::int64_t* at) {
  T gathered[columns];
  A row[columns], best[columns];
  ReductionCursor cursor(job.plan);
  for (std::int64_t r = 0; r < job.plan.count; ++r, cursor.advance(1)) {
    const T* from = x + cursor.offset();
    if (step != 1) {
      for (std::int64_t i = 0; i < n; ++i) gathered[i] = from[i * step];
      from = gathered;
    }
    job.loops.assign(from, n, r == 0 ? best : row);
    if (r == 0) {
      std::fill_n(at, n, 0);
      continue;
    }
    for (std::int64_t i = 0; i < n; ++i) {
      const bool better = beats(row[i], best[i], job.largest);
      best[i] = better ? row[i] : best[i];
      at[i] = better ? r : at[i];
    }
  }
}

template <class T, class A>
void arg_reduce_as(const Job& job, const View& x, const View& out) {
  const std::size_t last = job.plan.kept.size() - 1;
  Shape outer = job.plan.kept;
  Strides in = job.plan.kept_in, to = job.plan.kept_out;
  outer.erase(last), in.erase(last), to.erase(last);
  const std::int64_t count = job.plan.kept[last], in_step = job.plan.kept_in[last], out_step = job.plan.kept_out[last];
  const std::int64_t across = std::abs(in_step), along = std::abs(job.plan.reduced_in.back());
  const bool by_columns = count >= 8 && across != 0 && across < along;
  walk<2>(outer, {in, to}, [&](std::int64_t from, std::int64_t at) {
    const T* first = x.as<const T>() + from;
    std::int64_t* result = out.as<std::int64_t>() + at;
    for (std::int64_t c = 0; c < count; c += columns) {
      const std::int64_t n = std::min(columns, count - c);
      std::int64_t found[columns];
      if (by_columns) arg_of_tile<T, A>(job, first + c * in_step, n, in_step, found);
      for (std::int64_t i = 0; i < n; ++i) {
        if (!by_columns) found[i] = arg_of_elements<T, A>(job, first + (c + i) * in_step);
        result[(c + i) * out_step] = found[i];
      }
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
