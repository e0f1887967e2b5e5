// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/indexing.h"
#include "regrow/ops/shapes.h"
#include "regrow/ops/var.h"
#include "regrow/tensor/visit.h"
#include "regrow/tensor/walk.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  require_index_type(in[1]);
  out[0] = in[0];
}

void infer(const InferCall& call) {
  const Desc &x = call[0], &indices = call[1];
  require_matching_axes(x, indices, axis_of(x, call.attrs));
  call.out[0].shape = indices.shape;
  call.out[0].strides = dense_strides_like(indices.shape, x.shape, x.strides);
}

void compute(const ComputeCall& call) {
  const View &x = call.in[0], &indices = call.in[1], &out = call.out[0];
  const std::size_t axis = axis_of(*x.desc, call.attrs);
  auto* resolved = reinterpret_cast<std::int64_t*>(call.workspace.data());
  resolve_indices(indices, x.shape()[axis], "take_along_axis", axis, resolved);
  Strides across = x.strides();
  across[axis] = 0;
  visit_unit(x.dtype(), [&]<class Unit>(Type<Unit>) {
    const Unit* from = x.as<const Unit>();
    Unit* to = out.as<Unit>();
    walk<2>(out.shape(), {across, out.strides()},
            [&, step = x.strides()[axis]](std::int64_t a, std::int64_t b) { to[b] = from[a + *resolved++ * step]; });
  });
}

void gradient(Gradient& g) {
  const Var zero = g.recorder().constant(0, g.in_desc(0).dtype, g.grad());
  const Var zeros = op<"broadcast_to">({zero}, {{"shape", g.in_desc(0).shape}});
  g.set(0, op<"scatter_add_along_axis">({zeros, g.in(1), g.grad()}, {{"axis", g.attrs().value("axis")}}));
}

}  // namespace

OpDef take_along_axis() {
  return {
      .doc =
          "One element of x for each index: the result at (i, j, k) is x at (i, indices[i, j, k], k), for axis 1. Negative "
          "indices count from the end; one out of range is an error when the operation runs.",
      .inputs = {"x", "indices"},
      .attributes = {axis_attr(-1)},
      .dtypes = dtypes,
      .infer = infer,
      .compute = compute,
      .workspace = [](const CostCall& call) { return resolved_bytes(*call.in[1]); },
      .fails_by_value = true,
      .gradient = gradient,
      .saves_inputs = 0b10,
      .samples =
          {{.inputs = {{3, 4}, {3, 2}}, .dtypes = {DType::f64, DType::i64}, .low = -3, .high = 3},
           {.inputs = {{3, 4, 2}, {5, 4, 2}}, .attrs = {{"axis", 0}}, .dtypes = {DType::f64, DType::i32}, .low = -3, .high = 2},
           {.inputs = {{3}, {0}}, .dtypes = {DType::f64, DType::u8}}},
  };
}

}  // namespace regrow::ops
