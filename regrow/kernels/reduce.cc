// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/reduce.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "regrow/kernels/parallel.h"
#include "regrow/kernels/reduction.h"
#include "regrow/kernels/rounding.h"
#include "regrow/kernels/thread_memory.h"
#include "regrow/tensor/visit.h"
#include "regrow/tensor/walk.h"

namespace regrow::kernels {
namespace {

constexpr std::size_t levels = 54;  // of the tree of blocks: more than 63 bits of count can fill
constexpr std::size_t widest = 8;   // bytes of the largest accumulator
// Results that columns are folded for at once, at most: of f32 a page of each row.
constexpr std::int64_t column_tile = 1024;

thread_local ThreadMemory<64> lane_memory, branch_memory;

// Combines blocks of `width` accumulators pairwise, as a binary counter does: block 2k with 2k+1, those pairs likewise, and so
// on.
class BlockTree {
 public:
  // In memory for as many accumulators on each level as blocks can fill: bytes_for().
  BlockTree(const FoldLoops& loops, std::int64_t width, std::size_t size, std::byte* memory)
      : loops_(loops), bytes_(static_cast<std::size_t>(width) * size), width_(width), levels_(memory) {}
  static std::size_t bytes_for(std::int64_t blocks, std::size_t block_bytes) {
    return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(blocks))) * block_bytes;
  }

  // `acc` is consumed.
  void push(void* acc) {
    std::size_t level = 0;
    for (std::uint64_t n = count_++; n & 1; n >>= 1, ++level) merge(level, acc);
    std::memcpy(at(level), acc, bytes_);
  }
  // What all of them make, in `acc`.
  void finish(void* acc) {
    bool first = true;
    for (std::size_t level = 0; count_ >> level != 0; ++level) {
      if ((count_ >> level & 1) == 0) continue;
      if (first)
        std::memcpy(acc, at(level), bytes_);
      else
        merge(level, acc);
      first = false;
    }
  }

 private:
  // acc = level o acc
  void merge(std::size_t level, void* acc) {
    loops_.combine(acc, width_, at(level));
    std::memcpy(acc, at(level), bytes_);
  }
  std::byte* at(std::size_t level) { return levels_ + level * bytes_; }

  const FoldLoops& loops_;
  std::size_t bytes_;  // of a block
  std::int64_t width_;
  std::uint64_t count_ = 0;
  std::byte* levels_;
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
  bool far;        // too large to wait in a cache
  bool dense_run;  // results are folded from memory that goes on without gaps
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
  const auto block = job.far && job.dense_run ? job.loops.far_block : job.loops.block;
  Unit buffer[fold_block];
  alignas(widest) std::byte memory[levels * widest];
  ReductionCursor cursor(plan, first);
  BlockTree tree(job.loops, 1, job.acc_size(), memory);
  for (std::int64_t r = first; r < end; r += fold_block) {
    const std::int64_t n = std::min(fold_block, end - r);
    block(next_elements(x, cursor, n, buffer), n, acc);
    tree.push(acc);
  }
  tree.finish(acc);
}

// Adds rows k … k + count of a block to the lanes of n results each: of a lane's rows several at once, so that accumulators are
// loaded and stored once for them. Rows follow each other at one step.
template <class Unit>
void add_rows(const Job& job, const Unit* x, std::int64_t k, std::int64_t count, std::int64_t n, std::byte* lanes) {
  const std::int64_t step = job.plan.reduced_in.back();
  for (std::int64_t j = 0; j < std::min(count, fold_lanes); ++j) {
    const Unit* row = x + j * step;
    std::byte* lane = lanes + static_cast<std::size_t>((k + j) % fold_lanes * n) * job.acc_size();
    std::int64_t left = (count - j + fold_lanes - 1) / fold_lanes;
    if (k + j < fold_lanes) job.loops.assign(row, n, lane), row += fold_lanes * step, --left;
    if (left > 0) job.loops.rows(row, fold_lanes * step, left, n, job.far ? row + step : nullptr, lane);
  }
}

// The same elements of n neighbouring results at once.
template <class Unit>
void fold_rows_across(const Job& job, const Unit* x, std::int64_t n, std::int64_t first, std::int64_t end, std::byte* acc) {
  Unit gathered[column_tile];
  const std::int64_t step = job.plan.kept_in.back(), blocks = (end - first + fold_block - 1) / fold_block;
  const std::size_t lane_bytes = static_cast<std::size_t>(n) * job.acc_size();
  std::byte* lanes = lane_memory.reserve(fold_lanes * lane_bytes + BlockTree::bytes_for(blocks, lane_bytes));
  ReductionCursor cursor(job.plan, first);
  BlockTree tree(job.loops, n, job.acc_size(), lanes + fold_lanes * lane_bytes);
  for (std::int64_t r = first; r < end; r += fold_block) {
    const std::int64_t rows = std::min(fold_block, end - r);
    for (std::int64_t k = 0, count = 0; k < rows; k += count, cursor.advance(count)) {
      const Unit* row = x + cursor.offset();
      count = step == 1 ? std::min({fold_rows * fold_lanes, rows - k, cursor.run()}) : 1;
      if (step != 1) {
        for (std::int64_t i = 0; i < n; ++i) gathered[i] = row[i * step];
        row = gathered;
      }
      add_rows(job, row, k, count, n, lanes);
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
  const std::size_t branch_bytes = static_cast<std::size_t>(tile.results) * job.acc_size();
  const std::int64_t blocks = (job.plan.count + fold_block - 1) / fold_block;
  const auto length =
      static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>((blocks + most - 1) / most))) * fold_block;
  const std::int64_t count = (job.plan.count + length - 1) / length;
  std::byte* branches = branch_memory.reserve(most * branch_bytes + BlockTree::bytes_for(most, branch_bytes));
  const auto branch = [&](std::int64_t k) { return branches + static_cast<std::size_t>(k) * branch_bytes; };
  parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k)
      fold_range<Unit>(job, tile, k * length, std::min(job.plan.count, (k + 1) * length), branch(k));
  });
  BlockTree tree(job.loops, tile.results, job.acc_size(), branch(most));
  for (std::int64_t k = 0; k < count; ++k) tree.push(branch(k));
  tree.finish(acc);
}

// Columns go in wide tiles if enough of them are left for every thread. Results that are long are few to a tile, so that threads
// can share them.
std::int64_t results_of_tile(const Reduction& plan, bool columns, std::int64_t worth) {
  if (!columns) return std::clamp<std::int64_t>(worth / plan.count, 1, reduction_tile);
  std::int64_t width = column_tile;
  while (width > reduction_tile && kernel_threads() > 1 && tiles_of(plan, width) < 2 * kernel_threads()) width /= 2;
  return width;
}

template <class Unit>
void fold_tiles(const Job& job) {
  constexpr std::int64_t worth = 1 << 16;  // elements that are worth waking a thread for
  const std::int64_t results_a_tile = results_of_tile(job.plan, job.columns, worth);
  const std::int64_t tiles = tiles_of(job.plan, results_a_tile), step = job.plan.kept_out.back();
  const std::int64_t elements = element_count(job.plan.kept) * job.plan.count;
  if (tiles < 2 * kernel_threads() && elements > 2 * worth && kernel_threads() > 1) {
    for (std::int64_t k = 0; k < tiles; ++k) {
      alignas(64) std::byte acc[column_tile * widest];
      const ReductionTile tile = tile_of(job.plan, results_a_tile, k);
      fold_shared<Unit>(job, tile, acc);
      store(job, acc, tile.results, tile.to, step);
    }
    return;
  }
  const std::int64_t grain = std::max<std::int64_t>(1, worth * tiles / elements);
  parallel_for(tiles, grain, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) std::byte acc[column_tile * widest];
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
  const bool far = x.desc->bytes() >= std::size_t{1} << 20, dense_run = x.contiguous() && plan.reduced_in.back() == 1;
  const Job job{plan, fold_loops(fold, x.dtype(), accumulator), x, out, accumulator, divisor, by_columns(plan), far, dense_run};
  visit_unit(x.dtype(), [&]<class Unit>(Type<Unit>) { fold_tiles<Unit>(job); });
}

}  // namespace regrow::kernels
