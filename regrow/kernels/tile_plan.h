// SPDX-License-Identifier: Apache-2.0
// How one run of a tile program goes: which operands are read and written where they lie, which pass through a tile, and the
// calls that each tile takes. Built anew for every run, in memory that is kept. One thread builds it; any number may then read
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "regrow/kernels/tile.h"
#include "regrow/kernels/tile_rows.h"

namespace regrow::kernels {

// A place that calls read and write: inputs come first, then outputs, then scratch tiles.
using Place = std::uint32_t;

enum class Access : std::uint8_t {
  flat,   // position p lies p elements from the start: used in place
  inner,  // the innermost axis lies without gaps: used in place, row by row
  tile,   // gathered into, or scattered from, a scratch tile each time
  row,    // as tile, but constant along the innermost axis, so that it need not be filled again within one row
  panel,  // the next axis is the closer one: several rows are gathered together
  once,   // the same in every tile: gathered before the first
};

struct PlanOperand {
  std::byte* data = nullptr;
  std::size_t element = 0;  // bytes
  Access access = Access::flat;
  Place place = 0;  // of the scratch tile, unless used in place; of the first one of a panel
  std::int64_t strides[max_rank] = {};
};

struct PlanCall {
  TileFn fn = nullptr;
  Place in[max_tile_inputs] = {};
  Place out = 0;
  int arity = 0;
};

// Where a tile is.
struct TileAt {
  std::int64_t first = 0;   // flat position
  std::size_t n = 0;        // elements; may be 0
  std::int64_t row = 0;     // of the innermost axis, counted through all others, …
  std::int64_t column = 0;  // … and where in it; 0 and unused where rows are packed
  std::int64_t row_in_panel = 0;
  std::int64_t panel_rows = 0;  // how many rows this panel has
};

class TilePlan {
 public:
  static constexpr std::int64_t panel_rows = 16;

  void build(const TileProgram& program, std::span<const View> in, std::span<const View> out);
  TileAt locate(std::int64_t tile) const;
  // From the element at index 0 to the first one of a row, in elements.
  std::int64_t row_offset(const PlanOperand& operand, std::int64_t row) const;

  TileSpace space;
  std::int64_t tiles = 0;             // how many
  std::int64_t row_tiles = 0;         // > 0: so many in a row of the innermost axis; 0: a tile is `length` flat positions
  std::int64_t length = 0;            // of all tiles but the last (of a row)
  bool panels = false;                // whether tiles are ordered so that those of panel_rows rows, one below the other, follow
  std::vector<PlanOperand> operands;  // inputs, then outputs
  std::size_t input_count = 0;
  std::vector<PlanCall> prologue;  // before the first tile
  std::vector<PlanCall> calls;     // for each tile
  std::size_t scratch_tiles = 0;

 private:
  struct Value {
    Place place = 0;
    DType dtype = DType::f32;
    bool once = false;
    std::uint32_t last_use = 0;  // the step that reads it last
  };

  void merge_axes(std::span<const View> in, std::span<const View> out);
  void choose_tiles();
  bool prefers_panel(const PlanOperand& operand) const;
  void classify(std::span<const View> in, std::span<const View> out);
  bool lies_flat(const PlanOperand& operand) const;
  Access input_access(const PlanOperand& operand) const;
  void find_last_uses(const TileProgram& program);
  int direct_output(const TileProgram& program, std::size_t reg, DType dtype, std::size_t step) const;
  void plan_step(const TileProgram& program, std::size_t step, std::span<const View> out);
  void plan_output(const TileProgram& program, std::size_t o, std::span<const View> out);
  Place converted(Value& value, DType wanted, std::vector<PlanCall>& calls);
  Place new_tile(bool keep);
  void free_tile(Place place);
  bool is_tile(Place place) const { return place >= operands.size(); }

  std::vector<Value> values_;
  std::vector<DType> output_types_;
  std::vector<Place> free_, temporary_;
  std::vector<bool> written_;  // outputs that a step writes in place
};

}  // namespace regrow::kernels
