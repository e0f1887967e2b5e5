// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/softmax.h"
#include "regrow/ops/pooling.h"
#include "regrow/ops/softmax_axis.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  (void)softmax_axis(call.attrs, call[0].shape.rank());  // checks
  call.out[0].shape = call[0].shape;
  call.out[0].strides = dense_strides_like(call[0].shape, call[0].shape, call[0].strides);
}

void compute(const ComputeCall& call) {
  kernels::softmax(kernels::SoftmaxKind::logarithms, call.in[0], softmax_axis(call.attrs, call.in[0].shape().rank()), call.out[0],
                   call.workspace);
}

std::size_t workspace(const CostCall& call) {
  return kernels::softmax_workspace(*call.in[0], softmax_axis(call.attrs, call.in[0]->shape.rank()));
}

// g - exp(y) sum g along the axis.
void gradient(Gradient& g) {
  const Var sum = op<"sum">({g.grad()}, {{"axis", softmax_axes(g.attrs(), g.in_desc(0).shape.rank())}, {"keepdims", true}});
  g.set(0, g.grad() - op<"exp">(g.out()) * sum);
}

}  // namespace

OpDef log_softmax() {
  return {
      .doc =
          "The logarithm of the softmax of x along an axis: x - max - log(sum exp(x - max)). A row of -inf alone is NaN; the "
          "axis of a scalar has one element.",
      .inputs = {"x"},
      .attributes = softmax_attributes(),
      .dtypes = one_float_dtype,
      .infer = infer,
      .compute = compute,
      .workspace = workspace,
      .reuse = {0b1},
      .gradient = gradient,
      .saves_outputs = 0b1,
      .samples = {{.inputs = {{3, 5}}}, {.inputs = {{2, 4, 3}}, .attrs = {{"axis", 1}}}, {.inputs = {{}}}, {.inputs = {{0, 3}}}},
  };
}

}  // namespace regrow::ops
