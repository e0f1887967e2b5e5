// SPDX-License-Identifier: Apache-2.0
// What operators share that find elements by an index tensor or a mask. Any thread.
#pragma once

#include "regrow/kernels/copy.h"
#include "regrow/ops/op.h"

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

// Adding into a tensor by index, in the order of the updates: 16-bit floating types are added in f32 and rounded once, which
// needs workspace. `x`, `updates` and the output have one type, of numbers.
void check_scatter_dtypes(std::span<const DType> in, const Attrs& attrs, std::span<DType> out);  // of x, indices, updates
std::size_t scatter_workspace(const CostCall& call);
// Lays `x` out in what is added to: the output itself or f32 in the workspace, passes that to `add`, and rounds it to the output.
struct ScatterTarget {
  std::int64_t* indices = nullptr;  // room for the resolved ones
  View sum;                         // of the output's shape
};
void scatter(const ComputeCall& call, void (*add)(const ComputeCall& call, const ScatterTarget& target));
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
