// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/tile_flat.h"

#include <algorithm>
#include <cstring>

#include "regrow/kernels/elementwise.h"
#include "regrow/kernels/parallel.h"
#include "regrow/kernels/tile_rows.h"
#include "regrow/kernels/tile_scratch.h"

namespace regrow::kernels {

TileScratch& tile_scratch() noexcept {
  thread_local TileScratch scratch;
  return scratch;
}

namespace {

// The number of elements if they lie row-major without gaps, otherwise -1.
std::int64_t contiguous_count(const Desc& desc) {
  std::int64_t count = 1;
  for (std::size_t axis = desc.shape.size(); axis-- > 0;) {
    if (desc.shape[axis] == 1) continue;
    if (desc.strides[axis] != count && desc.shape[axis] != 0) return -1;
    count *= desc.shape[axis];
  }
  return count;
}

// The same in any order of the axes.
std::int64_t dense_count(const Desc& desc) {
  bool met[max_rank] = {};
  std::int64_t count = 1;
  for (std::size_t left = desc.shape.size(); left > 0; --left) {
    std::size_t next = max_rank;
    for (std::size_t axis = 0; axis < desc.shape.size(); ++axis)
      if (!met[axis] && (desc.strides[axis] == count || desc.shape[axis] == 1) && (next == max_rank || desc.shape[axis] == 1))
        next = axis;
    if (next == max_rank) return -1;
    met[next] = true;
    count *= desc.shape[next];
  }
  return count;
}

bool lies_like(const Desc& in, const Desc& out) {
  if (in.shape.size() != out.shape.size()) return false;
  for (std::size_t axis = 0; axis < in.shape.size(); ++axis)
    if (in.shape[axis] != out.shape[axis] || (in.strides[axis] != out.strides[axis] && in.shape[axis] != 1)) return false;
  return true;
}

// After how many elements `in` begins again when it is broadcast to the contiguous `out`, if it lies as the innermost axes of
// `out` do: 1 for a single element. Otherwise 0.
std::int64_t repeat_period(const Desc& in, const Desc& out) {
  std::int64_t period = 1;
  std::size_t axis = in.shape.size(), out_axis = out.shape.size();
  while (axis > 0 && out_axis > 0 && in.shape[axis - 1] == out.shape[out_axis - 1]) {
    --axis, --out_axis;
    if (in.shape[axis] != 1 && in.strides[axis] != out.strides[out_axis]) return 0;
    period *= in.shape[axis];
  }
  while (axis > 0)
    if (in.shape[--axis] != 1) return 0;
  return period;
}

struct FlatOperand {
  const std::byte* data = nullptr;
  std::int64_t element = 0;  // bytes in memory
  std::size_t wide = 0;      // bytes after conversion
  TileFn convert = nullptr;  // null: read as it is
  std::int64_t period = 0;   // > 0: so many elements, again and again
};

struct FlatRun {
  TileFn fn = nullptr;
  TileFn convert_result = nullptr;
  FlatOperand in[max_tile_inputs];
  std::size_t arity = 0;
  std::byte* out = nullptr;
  std::int64_t out_element = 0;
  std::int64_t count = 0;
  std::int64_t length = tile_size;  // of a tile: whole periods
  bool tiled = false;               // something passes through scratch

  bool prepare(const TileKernel& kernel, std::span<const View> views, const View& to);
  void run(std::int64_t begin, std::int64_t end) const;  // elements
  void run_tiles(std::int64_t begin, std::int64_t end) const;
  void run_tile(TileScratch& scratch, const void** from, std::int64_t first, std::size_t n) const;
  void repeat(const FlatOperand& operand, std::size_t n, std::byte* tile) const;
};

bool FlatRun::prepare(const TileKernel& kernel, std::span<const View> views, const View& to) {
  const std::int64_t contiguous = contiguous_count(*to.desc);
  count = contiguous >= 0 ? contiguous : dense_count(*to.desc);
  if (count < 0) return false;
  fn = kernel.fn, arity = views.size();
  out = to.data, out_element = static_cast<std::int64_t>(size_of(to.dtype()));
  if (kernel.result != to.dtype()) convert_result = convert(kernel.result, to.dtype()).fn, tiled = true;
  std::int64_t longest = 1;
  for (std::size_t a = 0; a < arity; ++a) {
    const View& view = views[a];
    FlatOperand& operand = in[a];
    operand.data = view.data, operand.element = static_cast<std::int64_t>(size_of(view.dtype()));
    operand.wide = size_of(kernel.operands[a]);
    if (!lies_like(*view.desc, *to.desc)) {
      operand.period = contiguous >= 0 ? repeat_period(*view.desc, *to.desc) : view.count() == 1 ? 1 : 0;
      if (operand.period == 0 || operand.period > length) return count == 0;
      longest = std::max(longest, operand.period), tiled = true;
    }
    if (view.dtype() != kernel.operands[a]) operand.convert = convert(view.dtype(), kernel.operands[a]).fn, tiled = true;
  }
  if (longest > 1) length = length / longest * longest;
  return true;
}

void FlatRun::run(std::int64_t begin, std::int64_t end) const {
  const void* from[max_tile_inputs];
  for (std::size_t a = 0; a < arity; ++a) from[a] = in[a].data + begin * in[a].element;
  fn(from, out + begin * out_element, static_cast<std::size_t>(end - begin));
}

// n elements of whole periods; each round doubles what is there.
void FlatRun::repeat(const FlatOperand& operand, std::size_t n, std::byte* tile) const {
  const void* source = operand.data;
  auto filled = static_cast<std::size_t>(operand.period);
  if (filled == 1) {
    alignas(8) std::byte element[8];
    if (operand.convert) operand.convert(&source, element, 1), source = element;
    return fill(tile, source, operand.wide, n);
  }
  if (operand.convert)
    operand.convert(&source, tile, filled);
  else
    std::memcpy(tile, source, filled * operand.wide);
  for (; filled < n; filled *= 2) std::memcpy(tile + filled * operand.wide, tile, std::min(filled, n - filled) * operand.wide);
}

void FlatRun::run_tile(TileScratch& scratch, const void** from, std::int64_t first, std::size_t n) const {
  for (std::size_t a = 0; a < arity; ++a) {
    if (in[a].period > 0) continue;
    from[a] = in[a].data + first * in[a].element;
    if (!in[a].convert) continue;
    const void* source = from[a];
    in[a].convert(&source, scratch.tile(a), n);
    from[a] = scratch.tile(a);
  }
  std::byte* const to = out + first * out_element;
  if (!convert_result) return fn(from, to, n);
  const void* result = scratch.tile(max_tile_inputs);
  fn(from, scratch.tile(max_tile_inputs), n);
  convert_result(&result, to, n);
}

void FlatRun::run_tiles(std::int64_t begin, std::int64_t end) const {
  TileScratch& scratch = tile_scratch();
  scratch.reserve(max_tile_inputs + 1);
  const void* from[max_tile_inputs];
  for (std::size_t a = 0; a < arity; ++a) {
    if (in[a].period == 0) continue;
    repeat(in[a], static_cast<std::size_t>(std::min(count, length)), scratch.tile(a));
    from[a] = scratch.tile(a);
  }
  for (std::int64_t tile = begin; tile < end; ++tile)
    run_tile(scratch, from, tile * length, static_cast<std::size_t>(std::min(length, count - tile * length)));
}

}  // namespace

bool run_flat(const TileKernel& kernel, std::span<const View> in, const View& out) {
  FlatRun flat;
  if (!flat.prepare(kernel, in, out)) return false;
  const std::int64_t count = flat.count;
  if (count == 0) return true;
  if (flat.tiled) {
    const std::int64_t tiles = (count + flat.length - 1) / flat.length;
    const auto body = [&](std::int64_t begin, std::int64_t end) { flat.run_tiles(begin, end); };
    if (count < parallel_elements)
      body(0, tiles);
    else
      parallel_for(tiles, piece_elements / flat.length, body);
  } else if (count < parallel_elements) {
    flat.run(0, count);
  } else {
    parallel_for(count, piece_elements, [&](std::int64_t begin, std::int64_t end) { flat.run(begin, end); });
  }
  return true;
}

}  // namespace regrow::kernels
