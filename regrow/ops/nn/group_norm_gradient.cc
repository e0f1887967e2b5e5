// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/normalization.h"
#include "regrow/ops/normalization.h"
#include "regrow/tensor/format.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  infer_channel_norm(call, 1, 2);
  (void)group_count(call.attrs, call[1]);  // checks
  require(call[0].shape == call[1].shape, "x has the shape {}, its gradient {}", call[1].shape, call[0].shape);
  for (std::size_t k : {1, 2}) call.out[k].shape = call[2].shape, call.out[k].strides = {1};
}

void compute(const ComputeCall& call) {
  kernels::group_norm_back(call.in[0], call.in[1], call.in[2], call.attrs.get<std::int64_t>("groups"), epsilon_of(call.attrs),
                           call.out[0], call.out[1], call.out[2], call.workspace);
}

std::size_t workspace(const CostCall& call) { return kernels::group_norm_back_workspace(*call.in[0], *call.in[1], *call.out[0]); }

// Means over each group of each image, as (N, C, 1, ...).
Var group_mean(Var x, const Desc& desc, std::int64_t groups) {
  const std::int64_t images = desc.shape[0], channels = desc.shape[1];
  Shape kept = Shape::filled(desc.shape.size(), 1);
  kept[0] = images, kept[1] = channels;
  const std::int64_t each = images * groups == 0 ? 0 : desc.count() / (images * groups);
  const Var rows = op<"reshape">({x}, {{"shape", Shape{images, groups, each}}});
  const Var mean = op<"mean">({rows}, {{"axis", Axes{2}}, {"keepdims", true}});
  return op<"reshape">({op<"broadcast_to">({mean}, {{"shape", Shape{images, groups, channels / groups}}})}, {{"shape", kept}});
}

void gradient(Gradient& g) {
  const Desc &desc = g.in_desc(1), &table = g.in_desc(2);
  const std::int64_t groups = g.attrs().get<std::int64_t>("groups");
  const Var x = g.in(1), one = filled(g.recorder(), 1, table, g.in(2)), zero = filled(g.recorder(), 0, table, g.in(2));
  const AttrValue& epsilon = g.attrs().value("epsilon");
  Normalization n;
  n.mean = [&desc, groups](Var v) { return group_mean(v, desc, groups); };
  n.normalized = op<"group_norm">({x, one, zero}, {{"groups", groups}, {"epsilon", epsilon}});
  n.factor = op<"reciprocal">(op<"sqrt">(n.mean(op<"square">(x - n.mean(x))) + Scalar(epsilon_of(g.attrs()))));
  n.project = [=](Var v) { return op_all<"group_norm_gradient", 3>({v, x, one}, {{"groups", groups}, {"epsilon", epsilon}})[0]; };
  n.spread = [&desc](Var v) { return as_channels(v, desc); };
  n.gather = [&table](Var v) { return sum_of_channels(v, table); };
  normalization_second_gradient(g, n);
}

}  // namespace

OpDef group_norm_gradient() {
  return {
      .doc = "The gradients of group_norm with respect to x, weight and bias, from that of its result.",
      .inputs = {"grad", "x", "weight"},
      .attributes = group_attributes(),
      .outputs = {"x_gradient", "weight_gradient", "bias_gradient"},
      .dtypes = normalized_gradient_dtypes,
      .infer = infer,
      .compute = compute,
      .workspace = workspace,
      .cost = normalization_cost,
      .reuse = {0b1},
      .gradient = gradient,
      .saves_inputs = 0b111,
      .samples = {{.inputs = {{2, 4, 2, 3}, {2, 4, 2, 3}, {4}}, .attrs = {{"groups", 2}, {"epsilon", 0.1}}},
                  {.inputs = {{2, 18, 2}, {2, 18, 2}, {18}}, .attrs = {{"groups", 3}, {"epsilon", 0.1}}},
                  {.inputs = {{0, 4, 2, 2}, {0, 4, 2, 2}, {4}}, .attrs = {{"groups", 1}}}},
  };
}

}  // namespace regrow::ops
