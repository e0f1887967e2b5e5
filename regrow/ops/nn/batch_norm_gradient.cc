// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/normalization.h"
#include "regrow/ops/normalization.h"
#include "regrow/tensor/format.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  infer_channel_norm(call, 1, 2);
  require(call[0].shape == call[1].shape, "x has the shape {}, its gradient {}", call[1].shape, call[0].shape);
  for (std::size_t k : {1, 2}) call.out[k].shape = call[2].shape, call.out[k].strides = {1};
}

void compute(const ComputeCall& call) {
  kernels::batch_norm_back(call.in[0], call.in[1], call.in[2], call.in[3], call.in[4], epsilon_of(call.attrs), call.out[0],
                           call.out[1], call.out[2], call.workspace);
}

std::size_t workspace(const CostCall& call) { return kernels::batch_norm_back_workspace(*call.in[0], *call.in[1], *call.out[0]); }

// With c = x - mean, r = 1 / sqrt(variance + epsilon), sums over a channel's n elements, out = weight r (grad - sum(grad) / n -
// c r^2 sum(grad c) / n), and r sum(grad c), sum(grad): a function of five independent inputs. u, p, q flow back to its outputs.
void gradient(Gradient& g) {
  const Desc& desc = g.in_desc(1);
  const Desc table{.dtype = desc.dtype, .device = desc.device, .shape = {desc.shape[1]}, .strides = {1}};
  const Scalar share(static_cast<double>(desc.shape[1]) / static_cast<double>(std::max<std::int64_t>(desc.count(), 1)));
  const auto sum = [&](Var x) { return as_channels(sum_of_channels(x, table), desc); };
  const Var grad = g.in(0), weight = as_channels(g.in(2), desc), c = g.in(1) - as_channels(g.in(3), desc);
  const Var r = op<"reciprocal">(op<"sqrt">(as_channels(g.in(4) + Scalar(epsilon_of(g.attrs())), desc)));
  const Var zero = filled(g.recorder(), 0, desc, grad);
  const Var u = g.has_grad(0) ? g.grad(0) : zero, p = g.has_grad(1) ? as_channels(g.grad(1), desc) : sum(zero),
            q = g.has_grad(2) ? as_channels(g.grad(2), desc) : sum(zero);
  const Var s1 = sum(grad), s2 = sum(grad * c), u1 = sum(u) * share, u2 = sum(u * c) * share, r2 = r * r;
  const Var inner = sum(u * grad) - s1 * u1;  // of L / (weight r), without the part in r^2
  if (g.wants(0)) g.set(0, weight * r * (u - u1 - c * (r2 * u2)) + c * (p * r) + q);
  if (g.wants(2)) {
    const Var flow = r * (inner - r2 * s2 * u2);
    g.set(2, op<"reshape">({cast_to(flow, g.in_desc(2).dtype)}, {{"shape", table.shape}}));
  }
  if (g.wants(1) || g.wants(3)) {
    const Var by_c = grad * (p * r - weight * r * r2 * u2) - u * (weight * r * r2 * s2 * share);
    if (g.wants(1)) g.set(1, by_c);
    if (g.wants(3)) g.set(3, -sum_of_channels(by_c, g.in_desc(3)));
  }
  if (g.wants(4)) {
    const Var by_r = weight * (inner - r2 * s2 * u2 * Scalar(3.0)) + p * s2;
    const Var flow = by_r * r * r2 * Scalar(-0.5);
    g.set(4, op<"reshape">({cast_to(flow, g.in_desc(4).dtype)}, {{"shape", table.shape}}));
  }
}

}  // namespace

OpDef batch_norm_gradient() {
  return {
      .doc =
          "The gradients of batch_norm with respect to x, weight and bias, from that of its result, and the means and variances "
          "(f64) that it found.",
      .inputs = {"grad", "x", "weight", "mean", "variance"},
      .attributes = {epsilon_attribute()},
      .outputs = {"x_gradient", "weight_gradient", "bias_gradient"},
      .dtypes = normalized_gradient_dtypes,
      .infer = infer,
      .compute = compute,
      .workspace = workspace,
      .cost = normalization_cost,
      .reuse = {0b1},
      .gradient = gradient,
      .saves_inputs = 0b11111,
      .samples = {{.inputs = {{3, 2, 2, 3}, {3, 2, 2, 3}, {2}, {2}, {2}}, .low = 0.5},
                  {.inputs = {{5, 17}, {5, 17}, {17}, {17}, {17}}, .attrs = {{"epsilon", 0.1}}, .low = 0.5},
                  {.inputs = {{0, 3, 2, 2}, {0, 3, 2, 2}, {3}, {3}, {3}}, .low = 0.5}},
  };
}

}  // namespace regrow::ops
