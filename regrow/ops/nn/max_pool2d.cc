// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/pooling.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  call.out[0].shape = result_shape(pooling_of(call[0].shape, call.attrs));
  call.out[0].strides = strides_as(call[0], call.out[0].shape);
}

void compute(const ComputeCall& call) {
  kernels::max_pool(pooling_of(call.in[0].shape(), call.attrs), call.in[0], call.in[0], call.out[0]);
}

Cost cost(const CostCall& call) { return pooling_cost(pooling_of(call.in[0]->shape, call.attrs), call); }

void gradient(Gradient& g) { g.set(0, pooling_call<"max_pool2d_gradient">(g, {g.grad(), g.in(0)})); }

}  // namespace

OpDef max_pool2d() {
  return {
      .doc =
          "The largest element of each window of images x (N, C, H, W), NaN if the window holds one; each size is "
          "floor((H + 2 padding - kernel) / stride) + 1, or rounded up with ceil_mode, but no window begins behind the image. "
          "The padding never wins. Channels-last images give a channels-last "
          "result.",
      .inputs = {"x"},
      .attributes = pooling_attributes(),
      .dtypes = one_float_dtype,
      .infer = infer,
      .compute = compute,
      .cost = cost,
      .gradient = gradient,
      .saves_inputs = 0b1,
      .samples = {{.inputs = {{2, 3, 4, 6}}, .attrs = {{"kernel", 2}}},
                  {.inputs = {{1, 2, 5, 5}}, .attrs = {{"kernel", Dims{3, 2}}, {"stride", Dims{1, 2}}, {"padding", Dims{1, 0}}}},
                  {.inputs = {{2, 2, 6, 5}}, .attrs = {{"kernel", 3}, {"stride", 2}, {"padding", 1}, {"ceil_mode", true}}},
                  {.inputs = {{0, 2, 4, 4}}, .attrs = {{"kernel", 2}}}},
  };
}

}  // namespace regrow::ops
