// SPDX-License-Identifier: Apache-2.0
// What operators share that find elements by an index tensor or a mask. Any thread.
#pragma once

#include "regrow/kernels/copy.h"
#include "regrow/ops/op.h"
#include "regrow/ops/var.h"

namespace regrow {

// Throws Error unless `indices` is of integers: "indices are of integers, not f32".
void require_index_type(DType indices);

// A tensor along one axis: what is left of it without the axis, and the axis.
struct Along {
  Desc rest;              // shape and strides without the axis
  std::int64_t size = 0;  // of the axis
  std::int64_t step = 0;  // its stride, in elements
};
Along along(const Desc& desc, std::size_t axis);

// The indices row-major, each in [0, size): negative ones count from the end. `to` has room for all.
// Throws Error "take: index 99 is out of range for axis 0 of size 3".
void resolve_indices(const View& indices, std::int64_t size, std::string_view op, std::size_t axis, std::int64_t* to);
// Bytes that resolved indices occupy.
std::size_t resolved_bytes(const Desc& indices);
// Throws Error unless x and the indices agree in every axis but one.
void require_matching_axes(const Desc& x, const Desc& indices, std::size_t axis);

// How index tensors, broadcast to one shape, cut x: into parts, one for each index, of the axes that are not indexed. What
// indexing gives has the axes of the indices, from axis `at` on, among the others.
struct IndexedParts {
  // axes[i] is what index tensor i indexes. Throws Error where axes or indices do not fit.
  IndexedParts(const Desc& x, const Dims& axes, std::int64_t at, std::span<const Desc* const> indices);

  Shape region() const;                                                          // of what indexing gives
  void divide(const Strides& region, Strides& of_index, Strides& of_rest) const;  // strides of a tensor of that shape
  // Offsets in x of the parts, row-major. Throws Error "take: index 99 is out of range for axis 0 of size 3".
  void locate(const View& x, std::span<const View> indices, std::string_view op, std::int64_t* offsets) const;

  Dims axes;
  std::size_t at;
  Shape index, rest;
};

// Those of one index tensor, along the attribute `axis`.
IndexedParts parts_along_axis(const Desc& x, const Desc& indices, const Attrs& attrs);

// region = the parts of x at these offsets; the parts of x = those of the region, which may repeat elements, one after another;
// or plus them (of one type, of numbers, except that f32 takes f16 and bf16).
void take_parts(const IndexedParts& parts, const View& x, const std::int64_t* offsets, const View& region);
void put_parts(const IndexedParts& parts, const View& region, const std::int64_t* offsets, const View& x);
void add_parts(const IndexedParts& parts, const View& region, const std::int64_t* offsets, const View& x);

// Adding into a tensor by index, in the order of the updates: 16-bit floating types are added in f32 and rounded once, which
// needs workspace. `x`, `updates` and the output have one type, of numbers.
void check_scatter_dtypes(std::span<const DType> in, const Attrs& attrs, std::span<DType> out);  // of x, indices, updates
void check_addable(DType dtype);  // throws Error for bool
std::size_t scatter_workspace(const Desc& x, std::size_t index_bytes);
// Lays input 0 out in what is added to: the output itself or f32 in the workspace, passes that to `add`, and rounds it to the
// output.
struct ScatterTarget {
  std::int64_t* indices = nullptr;  // `index_bytes` of workspace
  View sum;                         // of the output's shape
};
void scatter(const ComputeCall& call, std::size_t index_bytes, void (*add)(const ComputeCall& call, const ScatterTarget& target));
// to[i * to_step] += from[i * from_step]: T is the type of the updates, A that of the sum. Integers wrap.
template <class A, class T>
void add_elements(const T* from, std::int64_t from_step, A* to, std::int64_t to_step, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    A& sum = to[i * to_step];
    if constexpr (std::is_integral_v<A>)
      sum = static_cast<A>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(from[i * from_step]));
    else
      sum += static_cast<A>(from[i * from_step]);
  }
}

// 0, 1, … n - 1 (i64), on the device of `like`: for gradient rules.
Var counting(std::int64_t n, Var like);

// The mask names the leading axes of x, element by element. Throws Error if it does not.
void require_mask_fits(const Desc& x, const Desc& mask);
std::int64_t count_true(const View& mask);
// A tensor as a mask of its leading axes cuts it: into parts of the trailing ones.
struct MaskedParts {
  MaskedParts(const Desc& x, std::size_t mask_rank);

  Strides mask_strides;  // of the leading axes
  Shape rest;            // one part
  Strides rest_strides;
};

}  // namespace regrow
