// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/pooling.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  (void)adaptive_pooling(call[1].shape, call[0].shape);  // checks
  call.out[0].shape = call[1].shape;
  call.out[0].strides = strides_as(call[1], call[1].shape);
}

void compute(const ComputeCall& call) {
  kernels::max_pool_back(adaptive_pooling(call.in[1].shape(), call.in[0].shape()), call.in[0], call.in[1], call.out[0],
                         call.workspace);
}

std::size_t workspace(const CostCall& call) { return kernels::pool_back_workspace(*call.out[0]); }

Cost cost(const CostCall& call) { return pooling_cost(adaptive_pooling(call.in[1]->shape, call.in[0]->shape), call); }

// Linear in grad, as max_pool2d_gradient is.
void gradient(Gradient& g) {
  const Shape& result = g.in_desc(0).shape;
  if (g.wants(0)) g.set(0, op<"adaptive_max_pool2d_take">({g.grad(), g.in(1)}, {{"size", Dims{result[2], result[3]}}}));
}

}  // namespace

OpDef adaptive_max_pool2d_gradient() {
  return {
      .doc =
          "The gradient of adaptive_max_pool2d with respect to x from that of its result: each element of grad goes to the first "
          "largest element of its window (the first NaN, if it holds one), row by row.",
      .inputs = {"grad", "x"},
      .dtypes = one_float_dtype,
      .infer = infer,
      .compute = compute,
      .workspace = workspace,
      .cost = cost,
      .gradient = gradient,
      .saves_inputs = 0b10,
      .samples = {{.inputs = {{2, 3, 1, 1}, {2, 3, 4, 6}}}, {.inputs = {{1, 9, 3, 4}, {1, 9, 5, 7}}}},
  };
}

}  // namespace regrow::ops
