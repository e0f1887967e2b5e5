// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/cross_entropy.h"

#include "regrow/kernels/convert.h"
#include "regrow/kernels/workspace.h"
#include "regrow/ops/var.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) { out[0] = check_cross_entropy_dtypes(in); }

const Desc* weight_of(std::span<const Desc* const> in) { return in.size() > 2 ? in[2] : nullptr; }

void infer(const InferCall& call) {
  call.out[0].shape = check_cross_entropy(call[0].shape, call[1].shape, weight_of(call.in), call.attrs);
  call.out[0].strides = contiguous_strides(call.out[0].shape);
}

// A loss of each row in f64, added up in their order, rounded once.
void compute(const ComputeCall& call) {
  kernels::Workspace workspace(call.workspace);
  const View* weight = call.in.size() > 2 ? &call.in[2] : nullptr;
  auto* weights = reinterpret_cast<double*>(workspace.take(class_weight_bytes(weight ? weight->desc : nullptr)));
  const kernels::CrossEntropy c = cross_entropy_of(call.in[0], call.in[1], weight, call.attrs, weights);
  const std::int64_t rows = c.logits.shape()[0];
  const double counting = weigh_targets("cross_entropy", c);
  auto* losses = workspace.take_array<double>(rows);
  kernels::cross_entropy(c, losses, call.workspace.subspan(workspace.used()));
  const LossReduction reduction = loss_reduction(call.attrs);
  if (reduction == LossReduction::none) {
    const Desc desc = Desc::dense(DType::f64, {rows});
    return kernels::convert({&desc, reinterpret_cast<std::byte*>(losses)}, call.out[0]);
  }
  double sum = 0;
  for (std::int64_t i = 0; i < rows; ++i) sum += losses[i];
  if (reduction == LossReduction::mean) sum /= counting;
  write_scalar(sum, call.out[0].dtype(), call.out[0].data);
}

std::size_t workspace(const CostCall& call) {
  kernels::Workspace workspace;
  workspace.take(class_weight_bytes(weight_of(call.in)));
  workspace.take_array<double>(call.in[0]->shape[0]);
  return workspace.used() + kernels::cross_entropy_workspace(*call.in[0]);
}

void gradient(Gradient& g) {
  const regrow::Op back = regrow::op("cross_entropy_gradient", {{"reduction", g.attrs().value("reduction")},
                                                                {"ignore_index", g.attrs().value("ignore_index")},
                                                                {"label_smoothing", g.attrs().value("label_smoothing")}});
  Var in[4] = {g.grad(), g.in(0), g.in(1), {}}, out;
  if (g.input_count() > 2) in[3] = g.in(2);
  g.recorder().call(back, {in, g.input_count() + 1}, {}, {&out, 1});
  g.set(0, out);
}

}  // namespace

OpDef cross_entropy() {
  return {
      .doc =
          "The cross entropy between the softmax of logits (N, C) and the class targets (N): -log softmax(logits)[target], by "
          "default its "
          "mean over the rows. A weight (C) multiplies the terms of each class; no gradient flows to it. A target that is no class "
          "is an error of the value.",
      .inputs = {"logits", "targets", "weight..."},
      .attributes = cross_entropy_attributes(),
      .dtypes = dtypes,
      .infer = infer,
      .compute = compute,
      .workspace = workspace,
      .fails_by_value = true,
      .gradient = gradient,
      .saves_inputs = 0b111,
      .samples = {{.inputs = {{4, 3}, {4}}, .dtypes = {DType::f64, DType::i64}, .low = 0, .high = 2},
                  {.inputs = {{5, 3}, {5}},
                   .attrs = {{"reduction", std::string("none")}, {"ignore_index", 1}, {"label_smoothing", 0.25}},
                   .dtypes = {DType::f64, DType::u8},
                   .low = 0,
                   .high = 2},
                  {.inputs = {{2, 4}, {2}},
                   .attrs = {{"reduction", std::string("sum")}},
                   .dtypes = {DType::f32, DType::i32},
                   .low = 0,
                   .high = 3}},
  };
}

}  // namespace regrow::ops
