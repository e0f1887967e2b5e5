// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/reduce.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "regrow/kernels/parallel.h"
#include "regrow/kernels/reduction.h"
#include "regrow/kernels/rounding.h"
#include "regrow/tensor/visit.h"
#include "regrow/tensor/walk.h"

namespace regrow::kernels {
namespace {

constexpr std::size_t levels = 54;  // of the tree of blocks: more than 63 bits of count can fill
constexpr std::size_t widest = 8;   // bytes of the largest accumulator

// Combines blocks of `width` accumulators pairwise, as a binary counter does: block 2k with 2k+1, those pairs likewise, and so
// on.
class BlockTree {
 public:
  BlockTree(const FoldLoops& loops, std::int64_t width, std::size_t size) : loops_(loops), width_(width), size_(size) {}

  // `acc` is consumed.
  void push(void* acc) {
    std::size_t level = 0;
    for (std::uint64_t n = count_++; n & 1; n >>= 1, ++level) merge(level, acc);
    std::memcpy(at(level), acc, static_cast<std::size_t>(width_) * size_);
  }
  // What all of them make, in `acc`.
  void finish(void* acc) {
    bool first = true;
    for (std::size_t level = 0; count_ >> level != 0; ++level) {
      if ((count_ >> level & 1) == 0) continue;
      if (first)
        std::memcpy(acc, at(level), static_cast<std::size_t>(width_) * size_);
      else
        merge(level, acc);
      first = false;
    }
  }

 private:
  // acc = level o acc
  void merge(std::size_t level, void* acc) {
    loops_.combine(acc, width_, at(level));
    std::memcpy(acc, at(level), static_cast<std::size_t>(width_) * size_);
  }
  std::byte* at(std::size_t level) { return stack_ + level * static_cast<std::size_t>(reduction_tile) * widest; }

  const FoldLoops& loops_;
  std::int64_t width_;
  std::size_t size_;
  std::uint64_t count_ = 0;
  alignas(64) std::byte stack_[levels * reduction_tile * widest];
};

template <class Acc, class Out>
Out rounded(Acc value, double divisor) {
  if constexpr (std::is_floating_point_v<Acc>) {
    const Acc quotient = value / static_cast<Acc>(divisor);
    if constexpr (std::is_same_v<Out, Half> || std::is_same_v<Out, BFloat16>) {
      return std::isnan(quotient) ? Out(std::numeric_limits<float>::quiet_NaN()) : narrow<Out>(quotient);
    } else {
      return std::isnan(quotient) ? std::numeric_limits<Out>::quiet_NaN() : static_cast<Out>(quotient);
    }
  } else {
    return static_cast<Out>(value);
  }
}

struct Job {
  const Reduction& plan;
  const FoldLoops& loops;
  const View& x;
  const View& out;
  DType accumulator;
  double divisor;
  bool columns;
  std::size_t acc_size() const { return size_of(accumulator); }
};

// Writes n results, `step` elements apart from `at`.
void store(const Job& job, const std::byte* acc, std::int64_t n, std::int64_t at, std::int64_t step) {
  visit_type(job.accumulator, [&]<class Acc>(Type<Acc>) {
    visit_type(job.out.dtype(), [&]<class Out>(Type<Out>) {
      constexpr bool fits = std::is_same_v<Acc, Out> || (std::is_floating_point_v<Acc> && !std::is_integral_v<Out>) ||
                            (std::is_same_v<Acc, std::uint64_t> && std::is_same_v<Out, std::int64_t>);
      if constexpr (fits) {
        const Acc* from = reinterpret_cast<const Acc*>(acc);
        Out* to = job.out.as<Out>() + at;
        for (std::int64_t i = 0; i < n; ++i) to[i * step] = rounded<Acc, Out>(from[i], job.divisor);
      }
    });
  });
}

// Elements [first, end) of one result, block by block; `first` is a multiple of fold_block.
template <class Unit>
void fold_row(const Job& job, const Unit* x, std::int64_t first, std::int64_t end, std::byte* acc) {
  const Reduction& plan = job.plan;
  if (end - first <= fold_block && plan.reduced.size() == 1 && plan.reduced_in[0] == 1)
    return job.loops.block(x + first, end - first, acc);
  Unit buffer[fold_block];
  ReductionCursor cursor(plan, first);
  BlockTree tree(job.loops, 1, job.acc_size());
  for (std::int64_t r = first; r < end; r += fold_block) {
    const std::int64_t n = std::min(fold_block, end - r);
    job.loops.block(next_elements(x, cursor, n, buffer), n, acc);
    tree.push(acc);
  }
  tree.finish(acc);
}

// The same elements of n neighbouring results at once.
template <class Unit>
void fold_rows_across(const Job& job, const Unit* x, std::int64_t n, std::int64_t first, std::int64_t end, std::byte* acc) {
  constexpr std::int64_t ahead =
      16;  // rows that are fetched before their turn: the processor does not follow such steps by itself
  alignas(64) std::byte lanes[fold_lanes * reduction_tile * widest];
  Unit gathered[reduction_tile];
  const std::int64_t step = job.plan.kept_in.back(), next_row = job.plan.reduced_in.back() * ahead;
  const std::size_t lane_bytes = static_cast<std::size_t>(n) * job.acc_size();
  ReductionCursor cursor(job.plan, first);
  BlockTree tree(job.loops, n, job.acc_size());
  for (std::int64_t r = first; r < end; r += fold_block) {
    const std::int64_t rows = std::min(fold_block, end - r);
    for (std::int64_t k = 0; k < rows; ++k, cursor.advance(1)) {
      const Unit* row = x + cursor.offset();
      if (step != 1) {
        for (std::int64_t i = 0; i < n; ++i) gathered[i] = row[i * step];
        row = gathered;
      } else {
        for (std::int64_t i = 0; i < n; i += 64 / static_cast<std::int64_t>(sizeof(Unit))) __builtin_prefetch(row + next_row + i);
      }
      std::byte* lane = lanes + static_cast<std::size_t>(k % fold_lanes) * lane_bytes;
      (k < fold_lanes ? job.loops.assign : job.loops.row)(row, n, lane);
    }
    auto used = static_cast<std::size_t>(std::min(rows, fold_lanes));
    for (std::size_t w = std::bit_ceil(used) / 2; w > 0; used = w, w /= 2)
      for (std::size_t j = 0; j + w < used; ++j) job.loops.combine(lanes + (j + w) * lane_bytes, n, lanes + j * lane_bytes);
    tree.push(lanes);
  }
  tree.finish(acc);
}

template <class Unit>
void fold_range(const Job& job, const ReductionTile& tile, std::int64_t first, std::int64_t end, std::byte* acc) {
  const Unit* x = job.x.as<const Unit>() + tile.from;
  if (job.columns) return fold_rows_across(job, x, tile.results, first, end, acc);
  for (std::int64_t i = 0; i < tile.results; ++i)
    fold_row(job, x + i * job.plan.kept_in.back(), first, end, acc + static_cast<std::size_t>(i) * job.acc_size());
}

// A tile whose elements several threads share: each folds ranges of a power of two of blocks, which are whole branches of the
// tree.
template <class Unit>
void fold_shared(const Job& job, const ReductionTile& tile, std::byte* acc) {
  constexpr std::int64_t most = 32;
  alignas(64) std::byte branches[most][reduction_tile * widest];
  const std::int64_t blocks = (job.plan.count + fold_block - 1) / fold_block;
  const auto length =
      static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>((blocks + most - 1) / most))) * fold_block;
  const std::int64_t count = (job.plan.count + length - 1) / length;
  parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k)
      fold_range<Unit>(job, tile, k * length, std::min(job.plan.count, (k + 1) * length), branches[k]);
  });
  BlockTree tree(job.loops, tile.results, job.acc_size());
  for (std::int64_t k = 0; k < count; ++k) tree.push(branches[k]);
  tree.finish(acc);
}

template <class Unit>
void fold_tiles(const Job& job) {
  constexpr std::int64_t worth = 1 << 16;  // elements that are worth waking a thread for
  // Results that are long are few to a tile, so that threads can share them.
  const std::int64_t results_a_tile =
      job.columns ? reduction_tile : std::clamp<std::int64_t>(worth / job.plan.count, 1, reduction_tile);
  const std::int64_t tiles = tiles_of(job.plan, results_a_tile), step = job.plan.kept_out.back();
  const std::int64_t elements = element_count(job.plan.kept) * job.plan.count;
  if (tiles < 2 * kernel_threads() && elements > 2 * worth && kernel_threads() > 1) {
    for (std::int64_t k = 0; k < tiles; ++k) {
      alignas(64) std::byte acc[reduction_tile * widest];
      const ReductionTile tile = tile_of(job.plan, results_a_tile, k);
      fold_shared<Unit>(job, tile, acc);
      store(job, acc, tile.results, tile.to, step);
    }
    return;
  }
  const std::int64_t grain = std::max<std::int64_t>(1, worth * tiles / elements);
  parallel_for(tiles, grain, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) std::byte acc[reduction_tile * widest];
    for (std::int64_t k = begin; k < end; ++k) {
      const ReductionTile tile = tile_of(job.plan, results_a_tile, k);
      fold_range<Unit>(job, tile, 0, job.plan.count, acc);
      store(job, acc, tile.results, tile.to, step);
    }
  });
}

void store_identity(Fold fold, const View& out, double divisor) {
  const Scalar value = fold == Fold::sum   ? Scalar(0)
                       : fold == Fold::any ? Scalar(false)
                       : fold == Fold::all ? Scalar(true)
                                           : Scalar(1);
  alignas(8) std::byte element[8] = {};
  write_scalar(divisor == 0 ? Scalar(std::numeric_limits<double>::quiet_NaN()) : value, out.dtype(), element);
  const std::size_t size = size_of(out.dtype());
  walk<1>(out.shape(), {out.strides()},
          [&](std::int64_t at) { std::memcpy(out.data + at * static_cast<std::int64_t>(size), element, size); });
}

}  // namespace

void reduce(Fold fold, const View& x, const Dims& axes, const View& out, double divisor) {
  if (out.count() == 0) return;
  const Reduction plan = plan_reduction(*x.desc, axes, *out.desc);
  if (plan.count == 0) return store_identity(fold, out, divisor);
  const DType accumulator = accumulator_of(fold, x.dtype(), out.dtype());
  const Job job{plan, fold_loops(fold, x.dtype(), accumulator), x, out, accumulator, divisor, by_columns(plan)};
  visit_unit(x.dtype(), [&]<class Unit>(Type<Unit>) { fold_tiles<Unit>(job); });
}

}  // namespace regrow::kernels
