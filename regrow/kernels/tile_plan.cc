// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/tile_plan.h"

#include <algorithm>
#include <cstdlib>

#include "regrow/base/error.h"
#include "regrow/kernels/elementwise.h"

namespace regrow::kernels {
namespace {

// An innermost axis at least this long is cut into tiles by itself; shorter ones are packed together.
constexpr std::int64_t long_row = 256;

PlanCall copy_call(DType from, DType to, Place in, Place out) {
  PlanCall call{convert(from, to).fn, {}, out, 1};
  call.in[0] = in;
  return call;
}

// Axes longer than 1, innermost first, in the order in which the output lies in memory.
int memory_order(const View& out, int* order) {
  int count = 0;
  for (int axis = out.shape().rank(); axis-- > 0;) {
    if (out.shape()[static_cast<std::size_t>(axis)] == 1) continue;
    const std::int64_t stride = std::abs(out.strides()[static_cast<std::size_t>(axis)]);
    int at = count++;
    while (at > 0 && std::abs(out.strides()[static_cast<std::size_t>(order[at - 1])]) > stride) order[at] = order[at - 1], --at;
    order[at] = axis;
  }
  return count;
}

// The stride with which `view` is read along an axis of `shape`: 0 where it is repeated.
std::int64_t stride_along(const View& view, const Shape& shape, int axis) {
  const int own = axis - (shape.rank() - view.shape().rank());
  if (own < 0 || view.shape()[static_cast<std::size_t>(own)] == 1) return 0;
  return view.strides()[static_cast<std::size_t>(own)];
}

}  // namespace

void TilePlan::build(const TileProgram& program, std::span<const View> in, std::span<const View> out) {
  require(in.size() == program.inputs && out.size() == program.outputs.size() && !out.empty(),
          "a tile program of {} inputs and {} outputs is run on {} and {}", program.inputs, program.outputs.size(), in.size(),
          out.size());
  input_count = in.size();
  scratch_tiles = 0;
  prologue.clear(), calls.clear(), values_.clear(), free_.clear(), output_types_.clear();
  operands.resize(in.size() + out.size());
  written_.assign(out.size(), false);
  merge_axes(in, out);
  tiles = 0;
  if (space.total == 0) return;
  choose_tiles();
  classify(in, out);
  find_last_uses(program);
  for (std::size_t step = 0; step < program.steps.size(); ++step) plan_step(program, step, out);
  for (std::size_t o = 0; o < out.size(); ++o) plan_output(program, o, out);
}

void TilePlan::merge_axes(std::span<const View> in, std::span<const View> out) {
  const Shape& shape = out[0].shape();
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const View& view = k < in.size() ? in[k] : out[k - in.size()];
    operands[k].data = view.data;
    operands[k].element = size_of(view.dtype());
  }
  int order[max_rank];
  const int count = memory_order(out[0], order);
  space.rank = 0;
  space.total = 1;
  for (int i = 0; i < count; ++i) {
    const std::int64_t size = shape[static_cast<std::size_t>(order[i])];
    space.total *= size;
    bool merges = space.rank > 0;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      std::int64_t* const strides = operands[k].strides;
      strides[space.rank] = stride_along(k < in.size() ? in[k] : out[k - in.size()], shape, order[i]);
      merges = merges && strides[space.rank] == strides[space.rank - 1] * space.size[space.rank - 1];
    }
    if (merges)
      space.size[space.rank - 1] *= size;
    else
      space.size[space.rank++] = size;
  }
  if (space.rank > 0) return;
  space.rank = 1;
  space.size[0] = 1;
  for (PlanOperand& operand : operands) operand.strides[0] = 0;
}

// Whether elements of neighbouring rows share a line of memory, and those of a row do not.
bool TilePlan::prefers_panel(const PlanOperand& operand) const {
  return std::abs(operand.strides[0]) * static_cast<std::int64_t>(operand.element) >= 64 &&
         std::abs(operand.strides[1]) * 8 <= std::abs(operand.strides[0]) && operand.strides[1] != 0;
}

void TilePlan::choose_tiles() {
  panels = false;
  constexpr auto most = static_cast<std::int64_t>(tile_size);
  const std::int64_t inner = space.size[0];
  if (space.rank == 1) {
    row_tiles = 0;
    length = std::min(most, inner);
    tiles = (inner + most - 1) / most;
  } else if (inner >= long_row) {
    row_tiles = (inner + most - 1) / most;
    length = std::min(inner, ((inner + row_tiles - 1) / row_tiles + 63) / 64 * 64);
    row_tiles = (inner + length - 1) / length;
    tiles = space.total / inner * row_tiles;
    for (std::size_t k = 0; k < input_count; ++k) panels = panels || prefers_panel(operands[k]);
    if (!panels) return;
    const std::int64_t blocks = (space.size[1] + panel_rows - 1) / panel_rows;
    tiles = space.total / inner / space.size[1] * blocks * row_tiles * panel_rows;
  } else {  // whole groups of the inner axes, so that what repeats along the outer ones is the same in every tile
    std::int64_t group = 1;
    for (int axis = 0; axis < space.rank && group * space.size[axis] <= most; ++axis) group *= space.size[axis];
    row_tiles = 0;
    length = std::min(space.total, most / group * group);
    tiles = (space.total + length - 1) / length;
  }
}

bool TilePlan::lies_flat(const PlanOperand& operand) const {
  std::int64_t expected = 1;
  for (int axis = 0; axis < space.rank; ++axis) {
    if (space.size[axis] != 1 && operand.strides[axis] != expected) return false;
    expected *= space.size[axis];
  }
  return true;
}

Access TilePlan::input_access(const PlanOperand& operand) const {
  if (lies_flat(operand)) return Access::flat;
  std::int64_t group = 1;  // positions after which it may begin to differ
  int axis = 0;
  if (row_tiles == 0)
    while (axis < space.rank && length % (group * space.size[axis]) == 0) group *= space.size[axis++];
  bool repeats = true;
  for (int outer = axis; outer < space.rank; ++outer) repeats = repeats && operand.strides[outer] == 0;
  if (repeats) return Access::once;
  if (row_tiles == 0) return Access::tile;
  if (operand.strides[0] == 1) return Access::inner;
  if (operand.strides[0] == 0) return Access::row;
  return panels && prefers_panel(operand) ? Access::panel : Access::tile;
}

TileAt TilePlan::locate(std::int64_t tile) const {
  TileAt at;
  if (row_tiles == 0) {
    at.first = tile * length;
    at.n = static_cast<std::size_t>(std::min(length, space.total - at.first));
    return at;
  }
  if (panels) {
    at.row_in_panel = tile % panel_rows;
    tile /= panel_rows;
  }
  at.column = tile % row_tiles * length;
  at.row = tile / row_tiles;
  if (panels) {
    const std::int64_t rows = space.size[1], blocks = (rows + panel_rows - 1) / panel_rows;
    const std::int64_t top = at.row % blocks * panel_rows;
    at.panel_rows = std::min(panel_rows, rows - top);
    if (at.row_in_panel >= at.panel_rows) return at;
    at.row = at.row / blocks * rows + top + at.row_in_panel;
  }
  at.first = at.row * space.size[0] + at.column;
  at.n = static_cast<std::size_t>(std::min(length, space.size[0] - at.column));
  return at;
}

std::int64_t TilePlan::row_offset(const PlanOperand& operand, std::int64_t row) const {
  std::int64_t offset = 0;
  for (int axis = 1; axis < space.rank; ++axis) {
    offset += row % space.size[axis] * operand.strides[axis];
    row /= space.size[axis];
  }
  return offset;
}

void TilePlan::classify(std::span<const View> in, std::span<const View> out) {
  for (std::size_t k = 0; k < in.size(); ++k) {
    PlanOperand& operand = operands[k];
    operand.access = input_access(operand);
    const bool in_place = operand.access == Access::flat || operand.access == Access::inner;
    operand.place = in_place ? static_cast<Place>(k) : new_tile(true);
    if (operand.access == Access::panel) scratch_tiles += panel_rows;  // with this one, room for rows that are a little apart
    values_.push_back({operand.place, in[k].dtype(), operand.access == Access::once, 0});
  }
  for (std::size_t o = 0; o < out.size(); ++o) {
    PlanOperand& operand = operands[in.size() + o];
    operand.access = lies_flat(operand) ? Access::flat : Access::tile;
    operand.place = operand.access == Access::flat ? static_cast<Place>(in.size() + o) : new_tile(true);
    output_types_.push_back(out[o].dtype());
  }
}

void TilePlan::find_last_uses(const TileProgram& program) {
  values_.resize(program.inputs + program.steps.size());
  for (std::size_t step = 0; step < program.steps.size(); ++step)
    for (int a = 0; a < program.steps[step].arity; ++a)
      values_[program.steps[step].args[static_cast<std::size_t>(a)]].last_use = static_cast<std::uint32_t>(step);
  for (std::uint16_t reg : program.outputs) values_[reg].last_use = static_cast<std::uint32_t>(program.steps.size());
}

// The output that this register may be written to at once: of its type, and its memory is no input that is still to be read.
int TilePlan::direct_output(const TileProgram& program, std::size_t reg, DType dtype, std::size_t step) const {
  for (std::size_t o = 0; o < program.outputs.size(); ++o) {
    if (program.outputs[o] != reg || output_types_[o] != dtype) continue;
    const PlanOperand& operand = operands[input_count + o];
    bool safe = true;
    for (std::size_t k = 0; k < input_count; ++k)
      safe = safe && (operands[k].data != operand.data || values_[k].last_use <= step);
    if (safe) return static_cast<int>(o);
  }
  return -1;
}

Place TilePlan::new_tile(bool keep) {
  if (!keep && !free_.empty()) {
    const Place place = free_.back();
    free_.pop_back();
    return place;
  }
  return static_cast<Place>(operands.size() + scratch_tiles++);
}

void TilePlan::free_tile(Place place) { free_.push_back(place); }

// Where the value lies as elements of the wanted type.
Place TilePlan::converted(Value& value, DType wanted, std::vector<PlanCall>& list) {
  if (value.dtype == wanted) return value.place;
  const Place place = new_tile(value.once);
  list.push_back(copy_call(value.dtype, wanted, value.place, place));
  if (!value.once) temporary_.push_back(place);
  return place;
}

void TilePlan::plan_step(const TileProgram& program, std::size_t step, std::span<const View>) {
  const TileStep& todo = program.steps[step];
  const std::size_t reg = program.inputs + step;
  Value& result = values_[reg];
  const bool stored = result.last_use == program.steps.size();
  bool once = !stored;
  for (int a = 0; a < todo.arity; ++a) once = once && values_[todo.args[static_cast<std::size_t>(a)]].once;
  std::vector<PlanCall>& list = once ? prologue : calls;

  temporary_.clear();
  PlanCall call{todo.kernel.fn, {}, 0, todo.arity};
  for (int a = 0; a < todo.arity; ++a) {
    const auto i = static_cast<std::size_t>(a);
    Value& value = values_[todo.args[i]];
    call.in[i] = converted(value, todo.kernel.operands[i], value.once ? prologue : list);
  }
  const int direct = direct_output(program, reg, todo.dtype, step);
  Place place;
  if (direct >= 0) {
    written_[static_cast<std::size_t>(direct)] = true;
    place = operands[input_count + static_cast<std::size_t>(direct)].place;
  } else {
    place = new_tile(once);
  }
  result.place = place, result.dtype = todo.dtype, result.once = once;
  if (todo.kernel.result == todo.dtype) {
    call.out = place;
    list.push_back(call);
  } else {
    call.out = new_tile(false);
    list.push_back(call);
    list.push_back(copy_call(todo.kernel.result, todo.dtype, call.out, place));
    temporary_.push_back(call.out);
  }
  for (Place tile : temporary_) free_tile(tile);
  for (int a = 0; a < todo.arity; ++a) {
    const std::size_t source = todo.args[static_cast<std::size_t>(a)];
    Value& value = values_[source];
    if (value.last_use != step || value.once || source < program.inputs || !is_tile(value.place)) continue;
    free_tile(value.place);
    value.last_use = static_cast<std::uint32_t>(program.steps.size()) + 1;  // freed: an operand named twice is freed once
  }
  if (result.last_use == 0 && !stored && is_tile(place) && !once) free_tile(place);  // nobody reads it
}

void TilePlan::plan_output(const TileProgram& program, std::size_t o, std::span<const View> out) {
  if (written_[o]) return;
  const Value& value = values_[program.outputs[o]];
  calls.push_back(copy_call(value.dtype, out[o].dtype(), value.place, operands[input_count + o].place));
}

}  // namespace regrow::kernels
