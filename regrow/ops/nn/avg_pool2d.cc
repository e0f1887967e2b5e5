// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/pooling.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  call.out[0].shape = result_shape(mean_pooling_of(call[0].shape, call.attrs));
  call.out[0].strides = strides_as(call[0], call.out[0].shape);
}

void compute(const ComputeCall& call) {
  kernels::mean_pool(mean_pooling_of(call.in[0].shape(), call.attrs), call.in[0], call.out[0]);
}

Cost cost(const CostCall& call) { return pooling_cost(mean_pooling_of(call.in[0]->shape, call.attrs), call); }

void gradient(Gradient& g) {
  const Shape& image = g.in_desc(0).shape;
  g.set(0, op<"avg_pool2d_gradient">({g.grad()}, {{"size", Dims{image[2], image[3]}},
                                                  {"kernel", g.attrs().value("kernel")},
                                                  {"stride", g.attrs().value("stride")},
                                                  {"padding", g.attrs().value("padding")},
                                                  {"ceil_mode", g.attrs().value("ceil_mode")},
                                                  {"count_include_pad", g.attrs().value("count_include_pad")},
                                                  {"divisor_override", g.attrs().value("divisor_override")}}));
}

}  // namespace

OpDef avg_pool2d() {
  return {
      .doc =
          "The mean of each window of images x (N, C, H, W), the padding counted as zeros unless told otherwise; each size is "
          "floor((H + 2 padding - kernel) / stride) + 1, or rounded up with ceil_mode, but no window begins behind the image. "
          "Channels-last images give a channels-last result.",
      .inputs = {"x"},
      .attributes = mean_pooling_attributes(),
      .dtypes = one_float_dtype,
      .infer = infer,
      .compute = compute,
      .cost = cost,
      .gradient = gradient,
      .samples = {{.inputs = {{2, 3, 4, 6}}, .attrs = {{"kernel", 2}}},
                  {.inputs = {{1, 2, 5, 5}}, .attrs = {{"kernel", Dims{3, 2}}, {"stride", Dims{1, 2}}, {"padding", Dims{1, 0}}}},
                  {.inputs = {{2, 2, 6, 5}},
                   .attrs = {{"kernel", 3}, {"stride", 2}, {"padding", 1}, {"ceil_mode", true}, {"count_include_pad", false}}},
                  {.inputs = {{1, 9, 4, 5}},
                   .attrs = {{"kernel", 2}, {"padding", 1}, {"ceil_mode", true}, {"divisor_override", 3}}},
                  {.inputs = {{0, 2, 4, 4}}, .attrs = {{"kernel", 2}}}},
  };
}

}  // namespace regrow::ops
