// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/softmax.h"

#include "regrow/ops/pooling.h"
#include "regrow/ops/shapes.h"

namespace regrow::softmaxes {
namespace {

// In [0, rank); of a scalar 0, as if it had one element. Throws Error if there is no such axis.
int competing_axis(const Desc& x, const Attrs& attrs) {
  return resolve_axis(attrs.get<std::int64_t>("axis"), x.shape.empty() ? 1 : x.shape.rank());
}

void infer(const InferCall& call) {
  (void)competing_axis(call[0], call.attrs);  // checks
  infer_like(call[0], call.out[0]);
}

std::size_t workspace(const CostCall& call) { return kernels::softmax_workspace(*call.in[0], competing_axis(*call.in[0], call.attrs)); }

}  // namespace

void compute(kernels::SoftmaxKind kind, const ComputeCall& call) {
  kernels::softmax(kind, call.in[0], competing_axis(*call.in[0].desc, call.attrs), call.out[0], call.workspace);
}

Var sum_over_axis(Gradient& g, Var x) {
  const Axes axes = g.in_desc(0).shape.empty() ? Axes::none() : Axes(competing_axis(g.in_desc(0), g.attrs()));
  return op<"sum">({x}, {{"axis", axes}, {"keepdims", true}});
}

OpDef along_axis(std::string_view doc, void (*compute)(const ComputeCall& call), void (*gradient)(Gradient& g)) {
  return {
      .doc = doc,
      .inputs = {"x"},
      .attributes = {axis_attr(-1, "The axis whose elements compete; negative ones count from the end.")},
      .dtypes = one_float_dtype,
      .infer = infer,
      .compute = compute,
      .workspace = workspace,
      .reuse = {0b1},
      .gradient = gradient,
      .saves_outputs = 0b1,
      .samples = {{.inputs = {{3, 5}}}, {.inputs = {{2, 4, 3}}, .attrs = {{"axis", 1}}}, {.inputs = {{}}}, {.inputs = {{0, 3}}}}};
}

}  // namespace regrow::softmaxes
