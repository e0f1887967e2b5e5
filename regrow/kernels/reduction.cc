// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/reduction.h"

#include <cstdlib>

#include "regrow/kernels/copy.h"
#include "regrow/kernels/fold.h"

namespace regrow::kernels {

Reduction plan_reduction(const Desc& x, const Dims& axes, const Desc& out) {
  Reduction plan;
  Shape kept;
  Strides kept_in, kept_out;
  const bool keeps_axes = out.shape.size() == x.shape.size();
  std::size_t next = 0;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    const bool goes = next < axes.size() && axes[next] == static_cast<std::int64_t>(i);
    if (!goes) {
      kept_out.push_back(out.strides[keeps_axes ? i : kept.size()]);
      kept.push_back(x.shape[i]);
      kept_in.push_back(x.strides[i]);
      continue;
    }
    ++next;
    plan.count *= x.shape[i];
    if (x.shape[i] == 1) continue;
    if (!plan.reduced.empty() && plan.reduced_in.back() == x.strides[i] * x.shape[i]) {
      plan.reduced.back() *= x.shape[i];
      plan.reduced_in.back() = x.strides[i];
    } else {
      plan.reduced.push_back(x.shape[i]);
      plan.reduced_in.push_back(x.strides[i]);
    }
  }
  if (plan.reduced.empty()) plan.reduced = {1}, plan.reduced_in = {1};
  const CopyPlan order = plan_copy(kept, kept_out, kept_in);
  plan.kept = order.shape, plan.kept_in = order.to, plan.kept_out = order.from;
  return plan;
}

std::int64_t tiles_of(const Reduction& plan, std::int64_t results_a_tile) {
  const std::int64_t last = plan.kept.back(), tiles_a_row = (last + results_a_tile - 1) / results_a_tile;
  return element_count(plan.kept) / last * tiles_a_row;
}

ReductionTile tile_of(const Reduction& plan, std::int64_t results_a_tile, std::int64_t index) {
  const std::size_t last = plan.kept.size() - 1;
  const std::int64_t tiles_a_row = (plan.kept[last] + results_a_tile - 1) / results_a_tile;
  const std::int64_t first = index % tiles_a_row * results_a_tile;
  ReductionTile tile{first * plan.kept_in[last], first * plan.kept_out[last], std::min(results_a_tile, plan.kept[last] - first)};
  index /= tiles_a_row;
  for (std::size_t axis = last; axis-- > 0; index /= plan.kept[axis]) {
    tile.from += index % plan.kept[axis] * plan.kept_in[axis];
    tile.to += index % plan.kept[axis] * plan.kept_out[axis];
  }
  return tile;
}

bool by_columns(const Reduction& plan) {
  const std::int64_t across = std::abs(plan.kept_in.back()), along = std::abs(plan.reduced_in.back());
  if (plan.kept.back() < 8 || across == 0) return false;
  return across < along || plan.count <= fold_lanes;
}

ReductionCursor::ReductionCursor(const Reduction& plan, std::int64_t first)
    : plan_(plan), index_(Dims::filled(plan.reduced.size(), 0)) {
  for (std::size_t axis = index_.size(); axis-- > 0; first /= plan.reduced[axis]) {
    index_[axis] = first % plan.reduced[axis];
    offset_ += index_[axis] * plan.reduced_in[axis];
  }
}

void ReductionCursor::advance(std::int64_t count) noexcept {
  std::size_t axis = index_.size() - 1;
  index_[axis] += count;
  offset_ += count * plan_.reduced_in[axis];
  while (index_[axis] == plan_.reduced[axis] && axis > 0) {
    offset_ -= plan_.reduced[axis] * plan_.reduced_in[axis];
    index_[axis--] = 0;
    ++index_[axis];
    offset_ += plan_.reduced_in[axis];
  }
}

}  // namespace regrow::kernels
