// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/pooling.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  const Shape result = with_size(call[0].shape, call.attrs);
  (void)adaptive_pooling(call[0].shape, result);  // checks
  call.out[0].shape = result;
  call.out[0].strides = strides_as(call[0], result);
}

void compute(const ComputeCall& call) {
  kernels::max_pool(adaptive_pooling(call.in[0].shape(), call.out[0].shape()), call.in[0], call.in[0], call.out[0]);
}

Cost cost(const CostCall& call) { return pooling_cost(adaptive_pooling(call.in[0]->shape, call.out[0]->shape), call); }

void gradient(Gradient& g) { g.set(0, op<"adaptive_max_pool2d_gradient">(g.grad(), g.in(0))); }

}  // namespace

OpDef adaptive_max_pool2d() {
  return {
      .doc =
          "The largest elements of windows of images x (N, C, H, W) that give a result of height and width `size`: window i is "
          "[floor(i H / size), ceil((i + 1) H / size)). NaN if the window holds one. Channels-last images give a channels-last "
          "result.",
      .inputs = {"x"},
      .attributes = {{.name = "size", .type = AttrType::dims, .doc = "Height and width of the result."}},
      .dtypes = one_float_dtype,
      .infer = infer,
      .compute = compute,
      .cost = cost,
      .gradient = gradient,
      .saves_inputs = 0b1,
      .samples = {{.inputs = {{2, 3, 4, 6}}, .attrs = {{"size", 1}}},
                  {.inputs = {{1, 9, 5, 7}}, .attrs = {{"size", Dims{3, 4}}}},
                  {.inputs = {{0, 2, 4, 4}}, .attrs = {{"size", 2}}}},
  };
}

}  // namespace regrow::ops
