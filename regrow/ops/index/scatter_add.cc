// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/indexing.h"
#include "regrow/ops/shapes.h"
#include "regrow/ops/var.h"
#include "regrow/tensor/format.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  const Desc &x = call[0], &updates = call[2];
  const Shape wanted = parts_along_axis(x, call[1], call.attrs).region();
  require(updates.shape == wanted, "the updates have shape {}, not {}", updates.shape, wanted);
  infer_like(x, call.out[0]);
}

void add(const ComputeCall& call, const ScatterTarget& target) {
  const IndexedParts parts = parts_along_axis(*target.sum.desc, *call.in[1].desc, call.attrs);
  parts.locate(target.sum, call.in.subspan(1, 1), "scatter_add", target.indices);
  add_parts(parts, call.in[2], target.indices, target.sum);
}

}  // namespace

OpDef scatter_add() {
  return {
      .doc =
          "x with parts of `updates` added at these indices along an axis: what take would read there. Repeated indices add "
          "up, in the order of the indices; 16-bit floating types are added in f32 and rounded once.",
      .inputs = {"x", "indices", "updates"},
      .attributes = {axis_attr(0)},
      .dtypes = check_scatter_dtypes,
      .infer = infer,
      .compute = [](const ComputeCall& call) { scatter(call, resolved_bytes(*call.in[1].desc), add); },
      .workspace = [](const CostCall& call) { return scatter_workspace(*call.in[0], resolved_bytes(*call.in[1])); },
      .fails_by_value = true,
      .gradient =
          [](Gradient& g) {
            if (g.wants(0)) g.set(0, g.grad());
            if (g.wants(2)) g.set(2, op<"take">({g.grad(), g.in(1)}, {{"axis", g.attrs().value("axis")}}));
          },
      .saves_inputs = 0b10,
      .samples = {{.inputs = {{3, 4}, {5}, {5, 4}}, .dtypes = {DType::f64, DType::i64, DType::f64}, .low = -3, .high = 2},
                  {.inputs = {{2, 3, 2}, {2, 2}, {2, 2, 2, 2}},
                   .attrs = {{"axis", -2}},
                   .dtypes = {DType::bf16, DType::i32, DType::bf16},
                   .low = -3,
                   .high = 2},
                  {.inputs = {{3}, {}, {}}, .dtypes = {DType::i16, DType::u8, DType::i16}, .low = 0, .high = 2}},
  };
}

}  // namespace regrow::ops
