// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/reduce.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "regrow/kernels/reduction.h"
#include "regrow/tensor/visit.h"
#include "regrow/tensor/walk.h"

namespace regrow::kernels {
namespace {

constexpr std::int64_t columns = 128;  // results that are worked on together; their lanes stay in the first cache
constexpr std::size_t levels = 54;     // of the tree of blocks: more than 63 bits of count can fill
constexpr std::size_t widest = 8;      // bytes of the largest accumulator

// Combines blocks of `width` accumulators pairwise, as a binary counter does: block 2k with 2k+1, those pairs likewise, and so on.
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
      if (first) std::memcpy(acc, at(level), static_cast<std::size_t>(width_) * size_);
      else merge(level, acc);
      first = false;
    }
  }

 private:
  // acc = level o acc
  void merge(std::size_t level, void* acc) {
    loops_.combine(acc, width_, at(level));
    std::memcpy(acc, at(level), static_cast<std::size_t>(width_) * size_);
  }
  std::byte* at(std::size_t level) { return stack_ + level * static_cast<std::size_t>(columns) * widest; }

  const FoldLoops& loops_;
  std::int64_t width_;
  std::size_t size_;
  std::uint64_t count_ = 0;
  alignas(64) std::byte stack_[levels * columns * widest];
};

template <class Acc, class Out>
Out rounded(Acc value, double divisor) {
  if constexpr (std::is_floating_point_v<Acc>) {
    const Acc quotient = value / static_cast<Acc>(divisor);
    if constexpr (std::is_same_v<Out, Half> || std::is_same_v<Out, BFloat16>) {
      return Out(std::isnan(quotient) ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(quotient));
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

// One result: its elements block by block.
template <class Unit>
void fold_elements(const Job& job, const Unit* x, std::byte* acc) {
  const Reduction& plan = job.plan;
  if (plan.count <= fold_block && plan.reduced.size() == 1 && plan.reduced_in[0] == 1) return job.loops.block(x, plan.count, acc);
  Unit buffer[fold_block];
  ReductionCursor cursor(plan);
  BlockTree tree(job.loops, 1, job.acc_size());
  for (std::int64_t r = 0; r < plan.count; r += fold_block) {
    const std::int64_t n = std::min(fold_block, plan.count - r);
    job.loops.block(next_elements(x, cursor, n, buffer), n, acc);
    tree.push(acc);
  }
  tree.finish(acc);
}

// Results one by one: for reductions along memory.
template <class Unit>
void fold_rows(const Job& job) {
  const std::size_t last = job.plan.kept.size() - 1;
  Shape outer = job.plan.kept;
  Strides in = job.plan.kept_in, out = job.plan.kept_out;
  outer.erase(last), in.erase(last), out.erase(last);
  const std::int64_t count = job.plan.kept[last], in_step = job.plan.kept_in[last], out_step = job.plan.kept_out[last];
  walk<2>(outer, {in, out}, [&](std::int64_t from, std::int64_t to) {
    alignas(64) std::byte acc[columns * widest];
    for (std::int64_t c = 0; c < count; c += columns) {
      const std::int64_t n = std::min(columns, count - c);
      for (std::int64_t i = 0; i < n; ++i)
        fold_elements(job, job.x.as<const Unit>() + from + (c + i) * in_step, acc + static_cast<std::size_t>(i) * job.acc_size());
      store(job, acc, n, to + c * out_step, out_step);
    }
  });
}

// Up to `columns` neighbouring results at once, `step` apart in the input.
template <class Unit>
void fold_tile(const Job& job, const Unit* x, std::int64_t n, std::int64_t step, std::byte* acc) {
  alignas(64) std::byte lanes[fold_lanes * columns * widest];
  Unit gathered[columns];
  const std::size_t lane_bytes = static_cast<std::size_t>(n) * job.acc_size();
  ReductionCursor cursor(job.plan);
  BlockTree tree(job.loops, n, job.acc_size());
  for (std::int64_t r = 0; r < job.plan.count; r += fold_block) {
    const std::int64_t rows = std::min(fold_block, job.plan.count - r);
    for (std::int64_t k = 0; k < rows; ++k, cursor.advance(1)) {
      const Unit* row = x + cursor.offset();
      if (step != 1) {
        for (std::int64_t i = 0; i < n; ++i) gathered[i] = row[i * step];
        row = gathered;
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

// Results by tiles of neighbours: for reductions across memory, such as the sums of columns.
template <class Unit>
void fold_columns(const Job& job) {
  const std::size_t last = job.plan.kept.size() - 1;
  Shape outer = job.plan.kept;
  Strides in = job.plan.kept_in, out = job.plan.kept_out;
  outer.erase(last), in.erase(last), out.erase(last);
  const std::int64_t count = job.plan.kept[last], in_step = job.plan.kept_in[last], out_step = job.plan.kept_out[last];
  walk<2>(outer, {in, out}, [&](std::int64_t from, std::int64_t to) {
    alignas(64) std::byte acc[columns * widest];
    for (std::int64_t c = 0; c < count; c += columns) {
      const std::int64_t n = std::min(columns, count - c);
      fold_tile(job, job.x.as<const Unit>() + from + c * in_step, n, in_step, acc);
      store(job, acc, n, to + c * out_step, out_step);
    }
  });
}

void store_identity(Fold fold, const View& out, double divisor) {
  const Scalar value = fold == Fold::sum ? Scalar(0) : fold == Fold::any ? Scalar(false) : fold == Fold::all ? Scalar(true) : Scalar(1);
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
  const Job job{plan, fold_loops(fold, x.dtype(), accumulator), x, out, accumulator, divisor};
  const std::int64_t across = std::abs(plan.kept_in.back()), along = std::abs(plan.reduced_in.back());
  const bool by_columns = plan.kept.back() >= 8 && across != 0 && across < along;
  visit_unit(x.dtype(), [&]<class Unit>(Type<Unit>) { by_columns ? fold_columns<Unit>(job) : fold_rows<Unit>(job); });
}

}  // namespace regrow::kernels
