// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/cross_entropy.h"

#include "regrow/kernels/workspace.h"
#include "regrow/ops/var.h"
#include "regrow/tensor/format.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  out[0] = check_cross_entropy_dtypes(in.subspan(1));
  require(in[0] == in[1], "the gradient has the type of the logits, {}, not {}", name_of(in[1]), name_of(in[0]));
}

const Desc* weight_of(std::span<const Desc* const> in) { return in.size() > 3 ? in[3] : nullptr; }

void infer(const InferCall& call) {
  const Shape loss = check_cross_entropy(call[1].shape, call[2].shape, weight_of(call.in), call.attrs);
  require(call[0].shape == loss, "the loss has the shape {}, its gradient {}", loss, call[0].shape);
  call.out[0].shape = call[1].shape;
  call.out[0].strides = contiguous_strides(call[1].shape);
}

void compute(const ComputeCall& call) {
  kernels::Workspace workspace(call.workspace);
  const View* weight = call.in.size() > 3 ? &call.in[3] : nullptr;
  auto* weights = reinterpret_cast<double*>(workspace.take(class_weight_bytes(weight ? weight->desc : nullptr)));
  const kernels::CrossEntropy c = cross_entropy_of(call.in[1], call.in[2], weight, call.attrs, weights);
  const double counting = weigh_targets("cross_entropy_gradient", c);
  const double factor = loss_reduction(call.attrs) == LossReduction::mean ? 1 / counting : 1;
  kernels::cross_entropy_back(c, call.in[0], factor, call.out[0], call.workspace.subspan(workspace.used()));
}

std::size_t workspace(const CostCall& call) {
  return class_weight_bytes(weight_of(call.in)) + kernels::cross_entropy_workspace(*call.in[1]);
}

Var same_call(const Gradient& g, Var grad) {
  Var in[4] = {grad, g.in(1), g.in(2), {}}, out;
  if (g.input_count() > 3) in[3] = g.in(3);
  g.recorder().call(g.op(), {in, g.input_count()}, {}, {&out, 1});
  return out;
}

// The weight of each row's target, (N, 1), and of the whole smoothed target.
struct RowWeights {
  Var target, smoothed;
};
RowWeights row_weights(const Gradient& g) {
  const double smoothing = g.attrs().get<double>("label_smoothing");
  const Shape column = {g.in_desc(1).shape[0], 1};
  const DType dtype = g.in_desc(1).dtype;
  // Targets that do not count may name no class: 0 in their place.
  Var targets = g.in(2);
  if (g.attrs().has("ignore_index")) {
    const Var ignored = g.recorder().constant(g.attrs().get<std::int64_t>("ignore_index"), DType::i64, targets);
    const Var none = g.recorder().constant(0, g.in_desc(2).dtype, targets);
    targets = op<"where">(op<"equal">(targets, ignored), none, targets);
  }
  const Var weight = op<"cast">({g.in(3)}, {{"dtype", dtype}});
  const Var target = op<"reshape">({op<"take">({weight, targets}, {{"axis", 0}})}, {{"shape", column}});
  const Var spread = op<"sum">(weight) * Scalar(smoothing / static_cast<double>(g.in_desc(1).shape[1]));
  return {target, target * Scalar(1 - smoothing) + spread};
}

// What each row of p - q is multiplied by, as (N, 1) or ().
Var row_scale(const Gradient& g) {
  const DType dtype = g.in_desc(1).dtype;
  const std::int64_t rows = g.in_desc(1).shape[0];
  const LossReduction reduction = loss_reduction(g.attrs());
  Var scale = g.in(0);
  if (reduction == LossReduction::none) scale = op<"reshape">({scale}, {{"shape", Shape{rows, 1}}});
  const bool weighted = g.input_count() > 3;
  RowWeights weights;
  if (weighted) weights = row_weights(g), scale = scale * weights.smoothed;
  if (!g.attrs().has("ignore_index") && !weighted)
    return reduction == LossReduction::mean ? scale * Scalar(1 / static_cast<double>(rows)) : scale;
  if (!g.attrs().has("ignore_index")) return reduction == LossReduction::mean ? scale / op<"sum">(weights.target) : scale;
  const Var ignored = g.recorder().constant(g.attrs().get<std::int64_t>("ignore_index"), DType::i64, g.in(2));
  const Var counts =
      op<"reshape">({op<"cast">({op<"not_equal">(g.in(2), ignored)}, {{"dtype", dtype}})}, {{"shape", Shape{rows, 1}}});
  scale = scale * counts;
  return reduction == LossReduction::mean ? scale / op<"sum">(weighted ? counts * weights.target : counts) : scale;
}

// out = s (p - q) with p = softmax(logits): linear in grad; in the logits, the derivative of softmax.
void gradient(Gradient& g) {
  if (g.wants(0)) {
    const Shape& loss = g.in_desc(0).shape;
    Var one = g.recorder().constant(1, g.in_desc(0).dtype, g.in(0));
    if (!loss.empty()) one = op<"broadcast_to">({one}, {{"shape", loss}});
    const Var product = g.grad() * same_call(g, one);
    g.set(0, loss.empty() ? op<"sum">(product) : op<"sum">({product}, {{"axis", Axes{1}}}));
  }
  if (g.wants(1)) {
    const Var p = op<"softmax">({g.in(1)}, {{"axis", 1}});
    const Var weighted = p * g.grad();
    const Var total = op<"sum">({weighted}, {{"axis", Axes{1}}, {"keepdims", true}});
    g.set(1, row_scale(g) * (weighted - p * total));
  }
}

}  // namespace

OpDef cross_entropy_gradient() {
  return {
      .doc =
          "The gradient of cross_entropy with respect to its logits from that of its loss: (softmax(logits) - target) times "
          "grad, for the "
          "mean divided by the number of rows that count; 0 in rows that do not.",
      .inputs = {"grad", "logits", "targets", "weight..."},
      .attributes = cross_entropy_attributes(),
      .dtypes = dtypes,
      .infer = infer,
      .compute = compute,
      .workspace = workspace,
      .fails_by_value = true,
      .gradient = gradient,
      .saves_inputs = 0b1111,
      .samples = {{.inputs = {{}, {4, 3}, {4}}, .dtypes = {DType::f64, DType::f64, DType::i64}, .low = 0, .high = 2},
                  {.inputs = {{5}, {5, 3}, {5}},
                   .attrs = {{"reduction", std::string("none")}, {"ignore_index", 1}, {"label_smoothing", 0.25}},
                   .dtypes = {DType::f64, DType::f64, DType::i64},
                   .low = 0,
                   .high = 2}},
  };
}

}  // namespace regrow::ops
