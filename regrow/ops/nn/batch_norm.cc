// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/normalization.h"
#include "regrow/ops/normalization.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs& attrs, std::span<DType> out) {
  normalized_dtype(in, attrs, out);
  out[1] = out[2] = DType::f64;
}

void infer(const InferCall& call) {
  infer_channel_norm(call, 0, 1);
  for (std::size_t k : {1, 2}) call.out[k].shape = {call[0].shape[1]}, call.out[k].strides = {1};
}

void compute(const ComputeCall& call) {
  kernels::batch_norm(call.in[0], call.in[1], call.in[2], epsilon_of(call.attrs), call.out[0], call.out[1], call.out[2],
                      call.workspace);
}

std::size_t workspace(const CostCall& call) { return kernels::batch_norm_workspace(*call.in[0], *call.out[0]); }

// What flows back to the mean and the variance reaches x besides: mean's / n, and 2 (x - mean) / n times variance's.
void gradient(Gradient& g) {
  const Desc& desc = g.in_desc(0);
  Var flow;
  if (g.has_grad(0)) {
    const auto [of_x, of_weight, of_bias] = op_all<"batch_norm_gradient", 3>({g.grad(0), g.in(0), g.in(1), g.out(1), g.out(2)},
                                                                             {{"epsilon", g.attrs().value("epsilon")}});
    flow = of_x;
    if (g.wants(1)) g.set(1, of_weight);
    if (g.wants(2)) g.set(2, of_bias);
  }
  if (!g.wants(0)) return;
  const Scalar share(static_cast<double>(desc.shape[1]) / static_cast<double>(std::max<std::int64_t>(desc.count(), 1)));
  if (g.has_grad(1)) {
    const Var each = op<"broadcast_to">({as_channels(g.grad(1) * share, desc)}, {{"shape", desc.shape}});
    flow = flow ? flow + each : each;
  }
  if (g.has_grad(2)) {
    const Var each = (g.in(0) - as_channels(g.out(1), desc)) * as_channels(g.grad(2) * share * Scalar(2.0), desc);
    flow = flow ? flow + each : each;
  }
  if (flow) g.set(0, flow);
}

}  // namespace

OpDef batch_norm() {
  return {
      .doc =
          "x (N, C, ...) with each channel brought to mean 0 and variance 1 (Ioffe & Szegedy 2015), times weight (C,), plus bias "
          "(C,); the means and the biased variances that it found, in f64 whatever the type of x. Computed in f64 and rounded "
          "once.",
      .inputs = {"x", "weight", "bias"},
      .attributes = {epsilon_attribute()},
      .outputs = {"out", "mean", "variance"},
      .dtypes = dtypes,
      .infer = infer,
      .compute = compute,
      .workspace = workspace,
      .cost = normalization_cost,
      .reuse = {0b1},
      .gradient = gradient,
      .saves_inputs = 0b011,
      .saves_outputs = 0b110,
      .samples = {{.inputs = {{3, 2, 2, 3}, {2}, {2}}, .tolerance = 1e-5},
                  {.inputs = {{5, 17}, {17}, {17}}, .attrs = {{"epsilon", 0.1}}},
                  {.inputs = {{2, 3, 4}, {3}, {3}}, .attrs = {{"epsilon", 0.01}}}},
  };
}

}  // namespace regrow::ops
