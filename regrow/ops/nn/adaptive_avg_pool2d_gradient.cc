// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/pooling.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  const Shape image = with_size(call[0].shape, call.attrs);
  (void)adaptive_pooling(image, call[0].shape);  // checks
  call.out[0].shape = image;
  call.out[0].strides = strides_as(call[0], image);
}

void compute(const ComputeCall& call) {
  kernels::mean_pool_back(adaptive_pooling(call.out[0].shape(), call.in[0].shape()), call.in[0], call.out[0], call.workspace);
}

std::size_t workspace(const CostCall& call) { return kernels::pool_back_workspace(*call.out[0]); }

Cost cost(const CostCall& call) { return pooling_cost(adaptive_pooling(call.out[0]->shape, call.in[0]->shape), call); }

void gradient(Gradient& g) {
  const Shape& result = g.in_desc(0).shape;
  g.set(0, op<"adaptive_avg_pool2d">({g.grad()}, {{"size", Dims{result[2], result[3]}}}));
}

}  // namespace

OpDef adaptive_avg_pool2d_gradient() {
  return {
      .doc =
          "The gradient of adaptive_avg_pool2d with respect to its images, of height and width `size`, from that of its result.",
      .inputs = {"grad"},
      .attributes = {{.name = "size", .type = AttrType::dims, .doc = "Height and width of the images."}},
      .dtypes = one_float_dtype,
      .infer = infer,
      .compute = compute,
      .workspace = workspace,
      .cost = cost,
      .gradient = gradient,
      .samples = {{.inputs = {{2, 3, 1, 1}}, .attrs = {{"size", Dims{4, 6}}}},
                  {.inputs = {{1, 9, 3, 4}}, .attrs = {{"size", Dims{5, 7}}}}},
  };
}

}  // namespace regrow::ops
