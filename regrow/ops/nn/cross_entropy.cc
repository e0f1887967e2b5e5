// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/cross_entropy.h"

#include "regrow/kernels/convert.h"
#include "regrow/kernels/workspace.h"
#include "regrow/ops/var.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) { out[0] = check_cross_entropy_dtypes(in[0], in[1]); }

void infer(const InferCall& call) {
  call.out[0].shape = check_cross_entropy(call[0].shape, call[1].shape, call.attrs);
  call.out[0].strides = contiguous_strides(call.out[0].shape);
}

// A loss of each row in f64, added up in their order, rounded once.
void compute(const ComputeCall& call) {
  const kernels::CrossEntropy c = cross_entropy_of(call.in[0], call.in[1], call.attrs);
  const std::int64_t rows = c.logits.shape()[0], counting = count_targets("cross_entropy", c);
  kernels::Workspace workspace(call.workspace);
  auto* losses = workspace.take_array<double>(rows);
  kernels::cross_entropy(c, losses, call.workspace.subspan(workspace.used()));
  const LossReduction reduction = loss_reduction(call.attrs);
  if (reduction == LossReduction::none) {
    const Desc desc = Desc::dense(DType::f64, {rows});
    return kernels::convert({&desc, reinterpret_cast<std::byte*>(losses)}, call.out[0]);
  }
  double sum = 0;
  for (std::int64_t i = 0; i < rows; ++i) sum += losses[i];
  if (reduction == LossReduction::mean) sum /= static_cast<double>(counting);
  write_scalar(sum, call.out[0].dtype(), call.out[0].data);
}

std::size_t workspace(const CostCall& call) {
  kernels::Workspace workspace;
  workspace.take_array<double>(call.in[0]->shape[0]);
  return workspace.used() + kernels::cross_entropy_workspace(*call.in[0]);
}

void gradient(Gradient& g) {
  g.set(0, op<"cross_entropy_gradient">({g.grad(), g.in(0), g.in(1)}, {{"reduction", g.attrs().value("reduction")},
                                                                       {"ignore_index", g.attrs().value("ignore_index")},
                                                                       {"label_smoothing", g.attrs().value("label_smoothing")}}));
}

}  // namespace

OpDef cross_entropy() {
  return {
      .doc =
          "The cross entropy between the softmax of logits (N, C) and the class targets (N): -log softmax(logits)[target], by "
          "default its "
          "mean over the rows. A target that is no class is an error of the value.",
      .inputs = {"logits", "targets"},
      .attributes = cross_entropy_attributes(),
      .dtypes = dtypes,
      .infer = infer,
      .compute = compute,
      .workspace = workspace,
      .fails_by_value = true,
      .gradient = gradient,
      .saves_inputs = 0b11,
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
