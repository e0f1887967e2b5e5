// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/row_norm.h"
#include "regrow/ops/normalization.h"
#include "regrow/tensor/format.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  infer_row_norm(call, 1, 2);
  require(call[0].shape == call[1].shape, "x has the shape {}, its gradient {}", call[1].shape, call[0].shape);
  for (std::size_t k = 1; k < call.out.size(); ++k)
    call.out[k].shape = call[2].shape, call.out[k].strides = contiguous_strides(call[2].shape);
}

void compute(const ComputeCall& call) {
  kernels::row_norm_back({.centered = true, .epsilon = epsilon_of(call.attrs)}, call.in[0], call.in[1], call.in[2], call.out[0],
                         call.out[1], &call.out[2], call.workspace);
}

std::size_t workspace(const CostCall& call) {
  return kernels::row_norm_back_workspace(*call.in[0], *call.in[1], *call.in[2], *call.out[0]);
}

void gradient(Gradient& g) {
  const Desc &desc = g.in_desc(1), &table = g.in_desc(2);
  Dims inner, outer;
  for (int i = 0; i < desc.shape.rank(); ++i) (i < desc.shape.rank() - table.shape.rank() ? outer : inner).push_back(i);
  const Var x = g.in(1), one = filled(g.recorder(), 1, table, g.in(2));
  const AttrValue& epsilon = g.attrs().value("epsilon");
  Normalization n;
  n.mean = [inner](Var v) { return op<"mean">({v}, {{"axis", Axes(inner)}, {"keepdims", true}}); };
  n.normalized = op<"layer_norm">({x, one, filled(g.recorder(), 0, table, g.in(2))}, {{"epsilon", epsilon}});
  n.factor = op<"reciprocal">(op<"sqrt">(n.mean(op<"square">(x - n.mean(x))) + Scalar(epsilon_of(g.attrs()))));
  n.project = [=](Var v) { return op_all<"layer_norm_gradient", 3>({v, x, one}, {{"epsilon", epsilon}})[0]; };
  n.spread = [&desc](Var v) { return cast_to(v, desc.dtype); };
  n.gather = [outer, &table](Var v) { return cast_to(op<"sum">({v}, {{"axis", Axes(outer)}}), table.dtype); };
  normalization_second_gradient(g, n);
}

}  // namespace

OpDef layer_norm_gradient() {
  return {
      .doc = "The gradients of layer_norm with respect to x, weight and bias, from that of its result.",
      .inputs = {"grad", "x", "weight"},
      .attributes = {epsilon_attribute()},
      .outputs = {"x_gradient", "weight_gradient", "bias_gradient"},
      .dtypes = normalized_gradient_dtypes,
      .infer = infer,
      .compute = compute,
      .workspace = workspace,
      .cost = normalization_cost,
      .reuse = {0b1},
      .gradient = gradient,
      .saves_inputs = 0b111,
      .samples = {{.inputs = {{3, 5}, {3, 5}, {5}}, .attrs = {{"epsilon", 0.1}}},
                  {.inputs = {{2, 3, 17}, {2, 3, 17}, {17}}, .attrs = {{"epsilon", 0.1}}},
                  {.inputs = {{2, 2, 3, 4}, {2, 2, 3, 4}, {3, 4}}, .attrs = {{"epsilon", 0.1}}},
                  {.inputs = {{0, 4}, {0, 4}, {4}}}},
  };
}

}  // namespace regrow::ops
