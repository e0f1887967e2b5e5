// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/normalization.h"
#include "regrow/ops/normalization.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  infer_channel_norm(call, 0, 1);
  (void)group_count(call.attrs, call[0]);  // checks
}

void compute(const ComputeCall& call) {
  kernels::group_norm(call.in[0], call.in[1], call.in[2], call.attrs.get<std::int64_t>("groups"), epsilon_of(call.attrs),
                      call.out[0], call.workspace);
}

std::size_t workspace(const CostCall& call) { return kernels::group_norm_workspace(*call.in[0], *call.out[0]); }

void gradient(Gradient& g) {
  const auto flows = op_all<"group_norm_gradient", 3>(
      {g.grad(), g.in(0), g.in(1)}, {{"groups", g.attrs().value("groups")}, {"epsilon", g.attrs().value("epsilon")}});
  for (std::size_t i = 0; i < flows.size(); ++i)
    if (g.wants(i)) g.set(i, flows[i]);
}

}  // namespace

OpDef group_norm() {
  return {
      .doc =
          "x (N, C, ...) with each group of channels of each image brought to mean 0 and variance 1 (Wu & He 2018), times weight "
          "(C,), plus bias (C,). Statistics and result are computed in f64 and rounded once.",
      .inputs = {"x", "weight", "bias"},
      .attributes = group_attributes(),
      .dtypes = normalized_dtype,
      .infer = infer,
      .compute = compute,
      .workspace = workspace,
      .cost = normalization_cost,
      .reuse = {0b1},
      .gradient = gradient,
      .saves_inputs = 0b011,
      .samples = {{.inputs = {{2, 4, 2, 3}, {4}, {4}}, .attrs = {{"groups", 2}}},
                  {.inputs = {{3, 6}, {6}, {6}}, .attrs = {{"groups", 2}, {"epsilon", 0.1}}},
                  {.inputs = {{2, 18, 2}, {18}, {18}}, .attrs = {{"groups", 3}}},
                  {.inputs = {{0, 4, 2, 2}, {4}, {4}}, .attrs = {{"groups", 1}}}},
  };
}

}  // namespace regrow::ops
