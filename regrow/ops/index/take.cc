// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/indexing.h"
#include "regrow/ops/shapes.h"
#include "regrow/ops/var.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  require_index_type(in[1]);
  out[0] = in[0];
}

// Another order of axes stays if the result has as many.
void infer(const InferCall& call) {
  const Desc &x = call[0], &indices = call[1];
  OutDesc& out = call.out[0];
  out.shape = parts_along_axis(x, indices, call.attrs).region();
  out.strides = indices.shape.size() == 1 ? dense_strides_like(out.shape, x.shape, x.strides) : contiguous_strides(out.shape);
}

void compute(const ComputeCall& call) {
  const View &x = call.in[0], &indices = call.in[1];
  const IndexedParts parts = parts_along_axis(*x.desc, *indices.desc, call.attrs);
  auto* offsets = reinterpret_cast<std::int64_t*>(call.workspace.data());
  parts.locate(x, call.in.subspan(1), "take", offsets);
  take_parts(parts, x, offsets, call.out[0]);
}

void gradient(Gradient& g) {
  const Var zero = g.recorder().constant(0, g.in_desc(0).dtype, g.grad());
  const Var zeros = op<"broadcast_to">({zero}, {{"shape", g.in_desc(0).shape}});
  g.set(0, op<"scatter_add">({zeros, g.in(1), g.grad()}, {{"axis", g.attrs().value("axis")}}));
}

}  // namespace

OpDef take() {
  return {
      .doc =
          "The parts of x at these indices along an axis; the shape of the indices takes the place of the axis. Negative "
          "indices count from the end; one out of range is an error when the operation runs.",
      .inputs = {"x", "indices"},
      .attributes = {axis_attr(0)},
      .dtypes = dtypes,
      .infer = infer,
      .compute = compute,
      .workspace = [](const CostCall& call) { return resolved_bytes(*call.in[1]); },
      .fails_by_value = true,
      .gradient = gradient,
      .saves_inputs = 0b10,
      .samples =
          {{.inputs = {{3, 4}, {5}}, .dtypes = {DType::f64, DType::i64}, .low = -3, .high = 2},
           {.inputs = {{2, 3, 2}, {2, 2}}, .attrs = {{"axis", -2}}, .dtypes = {DType::f64, DType::i32}, .low = -3, .high = 2},
           {.inputs = {{3}, {}}, .dtypes = {DType::f64, DType::u8}, .low = 0, .high = 2},
           {.inputs = {{3, 0}, {2}}, .dtypes = {DType::f64, DType::i64}, .low = 0, .high = 2}},
  };
}

}  // namespace regrow::ops
