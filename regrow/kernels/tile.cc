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

// Filled anew only where its row begins.
void fill_row(const TilePlan& plan, const PlanOperand& operand, const TileAt& at, void* tile, const std::byte*& filled) {
  const std::byte* element = operand.data + plan.row_offset(operand, at.row) * static_cast<std::int64_t>(operand.element);
  if (element == filled) return;
  fill(tile, element, operand.element, static_cast<std::size_t>(plan.length));
  filled = element;
}

// The row of the panel that this tile is; gathered anew only where a panel begins. Rows are a line further apart than the tiles
// would have them: otherwise they would compete for the same few places of the cache.
std::byte* panel_row(const TilePlan& plan, const PlanOperand& operand, const TileAt& at, std::byte* tiles,
                     const std::byte*& filled) {
  Panel panel{operand.strides[1], operand.strides[0], at.panel_rows,
              (static_cast<std::size_t>(plan.length) * operand.element + 127) / 64 * 64};
  const std::int64_t offset = plan.row_offset(operand, at.row - at.row_in_panel) + at.column * panel.column_stride;
  const std::byte* first = operand.data + offset * static_cast<std::int64_t>(operand.element);
  if (first != filled) gather_panel(panel, first, operand.element, at.n, tiles);
  filled = first;
  return tiles + static_cast<std::size_t>(at.row_in_panel) * panel.pitch;
}

void read_input(const TilePlan& plan, std::size_t k, const TileAt& at, TileScratch& own) {
  const PlanOperand& operand = plan.operands[k];
  void*& place = own.places[operand.place];
  switch (operand.access) {
    case Access::flat: place = operand.data + at.first * static_cast<std::int64_t>(operand.element); break;
    case Access::inner:
      place = operand.data + (plan.row_offset(operand, at.row) + at.column) * static_cast<std::int64_t>(operand.element);
      break;
    case Access::tile: gather(plan.space, operand.strides, operand.data, operand.element, at.first, at.n, place); break;
    case Access::row: fill_row(plan, operand, at, place, own.filled[k]); break;
    case Access::panel:
      place = panel_row(plan, operand, at, own.tile(operand.place - plan.operands.size()), own.filled[k]);
      break;
    case Access::once: break;
  }
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
    const TileAt at = plan.locate(tile);
    if (at.n == 0) continue;
    for (std::size_t k = 0; k < plan.input_count; ++k) read_input(plan, k, at, own);
    for (std::size_t k = plan.input_count; k < plan.operands.size(); ++k)
      if (plan.operands[k].access == Access::flat)
        own.places[k] = plan.operands[k].data + at.first * static_cast<std::int64_t>(plan.operands[k].element);
    make_calls(plan.calls, own.places.data(), at.n);
    for (std::size_t k = plan.input_count; k < plan.operands.size(); ++k) {
      const PlanOperand& operand = plan.operands[k];
      if (operand.access != Access::flat)
        scatter(plan.space, operand.strides, operand.data, operand.element, at.first, at.n, own.places[operand.place]);
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
