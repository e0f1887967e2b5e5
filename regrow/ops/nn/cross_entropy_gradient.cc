// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/cross_entropy.h"
#include "regrow/ops/var.h"
#include "regrow/tensor/format.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  out[0] = check_cross_entropy_dtypes(in[1], in[2]);
  require(in[0] == in[1], "the gradient has the type of the logits, {}, not {}", name_of(in[1]), name_of(in[0]));
}

void infer(const InferCall& call) {
  const Shape loss = check_cross_entropy(call[1].shape, call[2].shape, call.attrs);
  require(call[0].shape == loss, "the loss has the shape {}, its gradient {}", loss, call[0].shape);
  call.out[0].shape = call[1].shape;
  call.out[0].strides = contiguous_strides(call[1].shape);
}

void compute(const ComputeCall& call) {
  const kernels::CrossEntropy c = cross_entropy_of(call.in[1], call.in[2], call.attrs);
  const std::int64_t counting = count_targets("cross_entropy_gradient", c);
  const double factor = loss_reduction(call.attrs) == LossReduction::mean ? 1 / static_cast<double>(counting) : 1;
  kernels::cross_entropy_back(c, call.in[0], factor, call.out[0], call.workspace);
}

std::size_t workspace(const CostCall& call) { return kernels::cross_entropy_workspace(*call.in[1]); }

Var same_call(const Gradient& g, Var grad) {
  return op<"cross_entropy_gradient">({grad, g.in(1), g.in(2)}, {{"reduction", g.attrs().value("reduction")},
                                                                 {"ignore_index", g.attrs().value("ignore_index")},
                                                                 {"label_smoothing", g.attrs().value("label_smoothing")}});
}

// What each row of p - q is multiplied by, as (N, 1) or ().
Var row_scale(const Gradient& g) {
  const DType dtype = g.in_desc(1).dtype;
  const std::int64_t rows = g.in_desc(1).shape[0];
  const LossReduction reduction = loss_reduction(g.attrs());
  Var scale = g.in(0);
  if (reduction == LossReduction::none) scale = op<"reshape">({scale}, {{"shape", Shape{rows, 1}}});
  if (!g.attrs().has("ignore_index"))
    return reduction == LossReduction::mean ? scale * Scalar(1 / static_cast<double>(rows)) : scale;
  const Var ignored = g.recorder().constant(g.attrs().get<std::int64_t>("ignore_index"), DType::i64, g.in(2));
  const Var counts =
      op<"reshape">({op<"cast">({op<"not_equal">(g.in(2), ignored)}, {{"dtype", dtype}})}, {{"shape", Shape{rows, 1}}});
  scale = scale * counts;
  return reduction == LossReduction::mean ? scale / op<"sum">(counts) : scale;
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
      .inputs = {"grad", "logits", "targets"},
      .attributes = cross_entropy_attributes(),
      .dtypes = dtypes,
      .infer = infer,
      .compute = compute,
      .workspace = workspace,
      .fails_by_value = true,
      .gradient = gradient,
      .saves_inputs = 0b111,
      .samples = {{.inputs = {{}, {4, 3}, {4}}, .dtypes = {DType::f64, DType::f64, DType::i64}, .low = 0, .high = 2},
                  {.inputs = {{5}, {5, 3}, {5}},
                   .attrs = {{"reduction", std::string("none")}, {"ignore_index", 1}, {"label_smoothing", 0.25}},
                   .dtypes = {DType::f64, DType::f64, DType::i64},
                   .low = 0,
                   .high = 2}},
  };
}

}  // namespace regrow::ops
