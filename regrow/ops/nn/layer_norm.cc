// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/row_norm.h"
#include "regrow/ops/normalization.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) { infer_row_norm(call, 0, 1); }

void compute(const ComputeCall& call) {
  kernels::row_norm({.centered = true, .epsilon = epsilon_of(call.attrs)}, call.in[0], call.in[1], &call.in[2], call.out[0],
                    call.workspace);
}

std::size_t workspace(const CostCall& call) { return kernels::row_norm_workspace(*call.in[0], *call.in[1], *call.out[0]); }

void gradient(Gradient& g) {
  const auto flows = op_all<"layer_norm_gradient", 3>({g.grad(), g.in(0), g.in(1)}, {{"epsilon", g.attrs().value("epsilon")}});
  for (std::size_t i = 0; i < flows.size(); ++i)
    if (g.wants(i)) g.set(i, flows[i]);
}

}  // namespace

OpDef layer_norm() {
  return {
      .doc =
          "x with each row, the last axes that weight and bias have, brought to mean 0 and variance 1 (Ba et al. 2016), times "
          "weight, "
          "plus bias. Statistics and result are computed in f64, in two passes, and rounded once.",
      .inputs = {"x", "weight", "bias"},
      .attributes = {epsilon_attribute()},
      .dtypes = normalized_dtype,
      .infer = infer,
      .compute = compute,
      .workspace = workspace,
      .cost = normalization_cost,
      .reuse = {0b1},
      .gradient = gradient,
      .saves_inputs = 0b11,
      .samples = {{.inputs = {{3, 5}, {5}, {5}}},
                  {.inputs = {{2, 3, 17}, {17}, {17}}, .attrs = {{"epsilon", 0.1}}},
                  {.inputs = {{2, 2, 3, 4}, {3, 4}, {3, 4}}},
                  {.inputs = {{0, 4}, {4}, {4}}}},
  };
}

}  // namespace regrow::ops
