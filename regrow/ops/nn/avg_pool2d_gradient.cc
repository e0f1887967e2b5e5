// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/convolution.h"
#include "regrow/ops/pooling.h"
#include "regrow/tensor/format.h"

namespace regrow::ops {
namespace {

Shape image_shape(const Shape& grad, const Attrs& attrs) {
  require(grad.size() == 4, "needs a gradient (N, C, OH, OW), not {}", grad);
  const kernels::Pair size = pair_attribute(attrs, "size", 1);
  return {grad[0], grad[1], size[0], size[1]};
}

void infer(const InferCall& call) {
  const Shape image = image_shape(call[0].shape, call.attrs), result = result_shape(mean_pooling_of(image, call.attrs));
  require(call[0].shape == result, "pooling {} gives the shape {}, not {}", image, result, call[0].shape);
  call.out[0].shape = image;
  call.out[0].strides = strides_as(call[0], image);
}

void compute(const ComputeCall& call) {
  kernels::mean_pool_back(mean_pooling_of(call.out[0].shape(), call.attrs), call.in[0], call.out[0], call.workspace);
}

std::size_t workspace(const CostCall& call) { return kernels::pool_back_workspace(*call.out[0]); }

Cost cost(const CostCall& call) { return pooling_cost(mean_pooling_of(call.out[0]->shape, call.attrs), call); }

void gradient(Gradient& g) {
  const Attrs& at = g.attrs();
  g.set(0, op<"avg_pool2d">({g.grad()}, {{"kernel", at.value("kernel")},
                                         {"stride", at.value("stride")},
                                         {"padding", at.value("padding")},
                                         {"ceil_mode", at.value("ceil_mode")},
                                         {"count_include_pad", at.value("count_include_pad")},
                                         {"divisor_override", at.value("divisor_override")}}));
}

}  // namespace

OpDef avg_pool2d_gradient() {
  return {
      .doc = "The gradient of avg_pool2d with respect to its images, of height and width `size`, from that of its result.",
      .inputs = {"grad"},
      .attributes = mean_pooling_attributes("Height and width of the images."),
      .dtypes = one_float_dtype,
      .infer = infer,
      .compute = compute,
      .workspace = workspace,
      .cost = cost,
      .gradient = gradient,
      .samples = {{.inputs = {{2, 3, 2, 3}}, .attrs = {{"size", Dims{4, 6}}, {"kernel", 2}}},
                  {.inputs = {{1, 2, 5, 2}},
                   .attrs = {{"size", Dims{5, 5}}, {"kernel", Dims{3, 2}}, {"stride", Dims{1, 2}}, {"padding", Dims{1, 0}}}},
                  {.inputs = {{2, 2, 4, 3}},
                   .attrs = {{"size", Dims{6, 5}},
                             {"kernel", 3},
                             {"stride", 2},
                             {"padding", 1},
                             {"ceil_mode", true},
                             {"count_include_pad", false}}},
                  {.inputs = {{1, 9, 3, 3}},
                   .attrs = {{"size", Dims{4, 5}}, {"kernel", 2}, {"padding", 1}, {"ceil_mode", true}, {"divisor_override", 3}}}},
  };
}

}  // namespace regrow::ops
