// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/several_indices.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  for (DType indices : in.subspan(1)) require_index_type(indices);
  out[0] = in[0];
}

void infer(const InferCall& call) {
  OutDesc& out = call.out[0];
  out.shape = parts_of(call[0], call.in.subspan(1), call.attrs).region();
  out.strides = contiguous_strides(out.shape);
}

void compute(const ComputeCall& call) {
  const std::span<const View> indices = call.in.subspan(1);
  const IndexedParts parts = parts_of(*call.in[0].desc, indices, call.attrs);
  auto* offsets = reinterpret_cast<std::int64_t*>(call.workspace.data());
  parts.locate(call.in[0], indices, "index", offsets);
  take_parts(parts, call.in[0], offsets, call.out[0]);
}

void gradient(Gradient& g) {
  const Var zero = g.recorder().constant(0, g.in_desc(0).dtype, g.grad());
  const Var zeros = op<"broadcast_to">({zero}, {{"shape", g.in_desc(0).shape}});
  g.set(0, indexed<"index_put">(g, {zeros, g.grad()}, 1, {{"accumulate", true}}));
}

}  // namespace

OpDef index_get() {
  return {
      .doc =
          "The parts of x at these indices along several axes. The indices broadcast to one shape, which stands in the result "
          "from "
          "axis `at` on, among the axes that are not indexed. Negative indices count from the end; one out of range is an error "
          "when "
          "the operation runs.",
      .inputs = {"x", "indices..."},
      .attributes = index_attributes(),
      .dtypes = dtypes,
      .infer = infer,
      .compute = compute,
      .workspace = [](const CostCall& call) { return offset_bytes(*call.in[0], call.in.subspan(1), call.attrs); },
      .fails_by_value = true,
      .gradient = gradient,
      .saves_inputs = ~std::uint32_t{1},
      .samples = {{.inputs = {{3, 4}, {5}, {5}},
                   .attrs = {{"axes", Dims{0, 1}}},
                   .dtypes = {DType::f64, DType::i64, DType::i32},
                   .low = -3,
                   .high = 2},
                  {.inputs = {{2, 3, 4}, {2, 1}, {3}},
                   .attrs = {{"axes", Dims{2, 0}}, {"at", 1}},
                   .dtypes = {DType::f64, DType::i64, DType::u8},
                   .low = 0,
                   .high = 1},
                  {.inputs = {{3}, {}}, .attrs = {{"axes", Dims{-1}}}, .dtypes = {DType::f64, DType::i8}, .low = -3, .high = 2},
                  {.inputs = {{3, 2}, {0}}, .attrs = {{"axes", Dims{1}}, {"at", 1}}, .dtypes = {DType::f64, DType::i64}}},
  };
}

}  // namespace regrow::ops
