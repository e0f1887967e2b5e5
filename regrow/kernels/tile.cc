// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/tile.h"

#include <algorithm>

#include "regrow/kernels/parallel.h"
#include "regrow/kernels/tile_flat.h"
#include "regrow/kernels/tile_plan.h"
#include "regrow/kernels/tile_scratch.h"

namespace regrow::kernels {
namespace {

void make_calls(std::span<const PlanCall> calls, void* const* places, std::size_t n) {
  for (const PlanCall& call : calls) {
    const void* in[max_tile_inputs];
    for (int a = 0; a < call.arity; ++a) in[a] = places[call.in[a]];
    call.fn(in, places[call.out], n);
  }
}

// One row operand: filled anew only where its row begins.
void fill_row(const TilePlan& plan, const PlanOperand& operand, std::int64_t row, std::size_t n, void* tile,
              const std::byte*& filled, std::size_t length) {
  std::int64_t offset = 0;
  for (int axis = 1; axis < plan.space.rank; ++axis) {
    offset += row % plan.space.size[axis] * operand.strides[axis];
    row /= plan.space.size[axis];
  }
  const std::byte* element = operand.data + offset * static_cast<std::int64_t>(operand.element);
  if (element == filled) return;
  fill(tile, element, operand.element, std::max(n, length));
  filled = element;
}

void prepare(const TilePlan& plan, TileScratch& own) {
  const std::size_t count = plan.operands.size();
  own.places.resize(count + plan.scratch_tiles);
  own.filled.assign(count, nullptr);
  own.reserve(plan.scratch_tiles);
  for (std::size_t i = 0; i < plan.scratch_tiles; ++i) own.places[count + i] = own.tile(i);
  const auto n = static_cast<std::size_t>(plan.length);
  for (std::size_t k = 0; k < plan.input_count; ++k) {
    const PlanOperand& operand = plan.operands[k];
    if (operand.access == Access::once)
      gather(plan.space, operand.strides, operand.data, operand.element, 0, n, own.places[operand.place]);
  }
  make_calls(plan.prologue, own.places.data(), n);
}

void run_plan_tiles(const TilePlan& plan, std::int64_t begin, std::int64_t end) {
  TileScratch& own = tile_scratch();
  prepare(plan, own);
  for (std::int64_t tile = begin; tile < end; ++tile) {
    const std::int64_t row = plan.row_tiles > 0 ? tile / plan.row_tiles : 0;
    const std::int64_t first =
        plan.row_tiles > 0 ? row * plan.space.size[0] + tile % plan.row_tiles * plan.length : tile * plan.length;
    const std::int64_t limit = plan.row_tiles > 0 ? (row + 1) * plan.space.size[0] : plan.space.total;
    const auto n = static_cast<std::size_t>(std::min(plan.length, limit - first));
    for (std::size_t k = 0; k < plan.operands.size(); ++k) {
      const PlanOperand& operand = plan.operands[k];
      if (operand.access == Access::flat)
        own.places[k] = operand.data + first * static_cast<std::int64_t>(operand.element);
      else if (k >= plan.input_count || operand.access == Access::once)
        continue;
      else if (operand.access == Access::row)
        fill_row(plan, operand, row, n, own.places[operand.place], own.filled[k], static_cast<std::size_t>(plan.length));
      else
        gather(plan.space, operand.strides, operand.data, operand.element, first, n, own.places[operand.place]);
    }
    make_calls(plan.calls, own.places.data(), n);
    for (std::size_t k = plan.input_count; k < plan.operands.size(); ++k) {
      const PlanOperand& operand = plan.operands[k];
      if (operand.access != Access::flat)
        scatter(plan.space, operand.strides, operand.data, operand.element, first, n, own.places[operand.place]);
    }
  }
}

void run_plan(const TilePlan& plan) {
  if (plan.tiles == 0) return;
  if (plan.space.total < parallel_elements) return run_plan_tiles(plan, 0, plan.tiles);
  const std::int64_t grain = std::max<std::int64_t>(1, piece_elements / plan.length);
  parallel_for(plan.tiles, grain, [&](std::int64_t begin, std::int64_t end) { run_plan_tiles(plan, begin, end); });
}

}  // namespace

void run_tiles(const TileProgram& program, std::span<const View> in, std::span<const View> out) {
  thread_local TilePlan plan;  // kept for its memory
  plan.build(program, in, out);
  run_plan(plan);
}

void run_tile(const TileKernel& kernel, std::span<const View> in, const View& out) {
  if (run_flat(kernel, in, out)) return;
  thread_local TileProgram program;
  program.inputs = static_cast<std::uint16_t>(in.size());
  program.outputs.assign(1, program.inputs);
  program.steps.assign(1, {kernel, out.dtype(), static_cast<int>(in.size()), {0, 1, 2}});
  run_tiles(program, in, {&out, 1});
}

}  // namespace regrow::kernels
