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

bool is_single(const Shape& shape) {
  for (std::int64_t size : shape)
    if (size != 1) return false;
  return true;
}

struct FlatOperand {
  const std::byte* data = nullptr;
  std::int64_t element = 0;  // bytes in memory
  std::size_t wide = 0;      // bytes after conversion
  TileFn convert = nullptr;  // null: read as it is
  bool single = false;
};

struct FlatRun {
  TileFn fn = nullptr;
  TileFn convert_result = nullptr;
  FlatOperand in[max_tile_inputs];
  std::size_t arity = 0;
  std::byte* out = nullptr;
  std::int64_t out_element = 0;
  bool tiled = false;  // something passes through scratch

  bool prepare(const TileKernel& kernel, std::span<const View> views, const View& to);
  void run(std::int64_t begin, std::int64_t end) const;
  void run_tiled(std::int64_t begin, std::int64_t end) const;
};

bool FlatRun::prepare(const TileKernel& kernel, std::span<const View> views, const View& to) {
  fn = kernel.fn, arity = views.size();
  out = to.data, out_element = static_cast<std::int64_t>(size_of(to.dtype()));
  if (kernel.result != to.dtype()) convert_result = convert(kernel.result, to.dtype()).fn, tiled = true;
  for (std::size_t a = 0; a < arity; ++a) {
    const View& view = views[a];
    FlatOperand& operand = in[a];
    operand.data = view.data, operand.element = static_cast<std::int64_t>(size_of(view.dtype()));
    operand.wide = size_of(kernel.operands[a]);
    if (!lies_like(*view.desc, *to.desc)) {
      if (!is_single(view.shape())) return false;
      operand.single = true, tiled = true;
    }
    if (view.dtype() != kernel.operands[a]) operand.convert = convert(view.dtype(), kernel.operands[a]).fn, tiled = true;
  }
  return true;
}

void FlatRun::run(std::int64_t begin, std::int64_t end) const {
  if (tiled) return run_tiled(begin, end);
  const void* from[max_tile_inputs];
  for (std::size_t a = 0; a < arity; ++a) from[a] = in[a].data + begin * in[a].element;
  fn(from, out + begin * out_element, static_cast<std::size_t>(end - begin));
}

void FlatRun::run_tiled(std::int64_t begin, std::int64_t end) const {
  TileScratch& scratch = tile_scratch();
  scratch.reserve(max_tile_inputs + 1);
  const auto most = static_cast<std::size_t>(std::min(end - begin, static_cast<std::int64_t>(tile_size)));
  const void* from[max_tile_inputs];
  for (std::size_t a = 0; a < arity; ++a) {
    if (!in[a].single) continue;
    alignas(8) std::byte element[8];
    const void* source = in[a].data;
    if (in[a].convert) in[a].convert(&source, element, 1), source = element;
    fill(scratch.tile(a), source, in[a].wide, most);
    from[a] = scratch.tile(a);
  }
  while (begin < end) {
    const auto n = std::min(static_cast<std::size_t>(end - begin), tile_size);
    for (std::size_t a = 0; a < arity; ++a) {
      if (in[a].single) continue;
      from[a] = in[a].data + begin * in[a].element;
      if (!in[a].convert) continue;
      const void* source = from[a];
      in[a].convert(&source, scratch.tile(a), n);
      from[a] = scratch.tile(a);
    }
    std::byte* const to = out + begin * out_element;
    if (convert_result) {
      const void* result = scratch.tile(max_tile_inputs);
      fn(from, scratch.tile(max_tile_inputs), n);
      convert_result(&result, to, n);
    } else {
      fn(from, to, n);
    }
    begin += static_cast<std::int64_t>(n);
  }
}

}  // namespace

bool run_flat(const TileKernel& kernel, std::span<const View> in, const View& out) {
  std::int64_t count = contiguous_count(*out.desc);
  if (count < 0) count = dense_count(*out.desc);
  if (count < 0) return false;
  FlatRun flat;
  if (!flat.prepare(kernel, in, out)) return false;
  if (count == 0) return true;
  if (count < parallel_elements)
    flat.run(0, count);
  else
    parallel_for(count, piece_elements, [&](std::int64_t begin, std::int64_t end) { flat.run(begin, end); });
  return true;
}

}  // namespace regrow::kernels
