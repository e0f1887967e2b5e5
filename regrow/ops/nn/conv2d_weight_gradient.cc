// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/convolution.h"
#include "regrow/tensor/format.h"

namespace regrow::ops {
namespace {

using kernels::ConvolutionPass;

Shape weight_shape(const Shape& x, const Shape& grad, const Attrs& attrs) {
  require(x.size() == 4 && grad.size() == 4, "needs images (N, C, H, W) and a gradient (N, O, OH, OW), not {} and {}", x, grad);
  const kernels::Pair size = pair_attribute(attrs, "size", 1);
  const std::int64_t groups = attrs.get<std::int64_t>("groups");
  require(groups >= 1 && x[1] % groups == 0, "{} channels do not fall into {} groups", x[1], groups);
  return {grad[1], x[1] / groups, size[0], size[1]};
}

kernels::Convolution shape_of(const Shape& x, const Shape& grad, const Attrs& attrs) {
  return convolution_with_result(x, weight_shape(x, grad, attrs), grad, attrs);
}

void infer(const InferCall& call) {
  (void)shape_of(call[0].shape, call[1].shape, call.attrs);  // checks
  call.out[0].shape = weight_shape(call[0].shape, call[1].shape, call.attrs);
  call.out[0].strides = contiguous_strides(call.out[0].shape);
}

void compute(const ComputeCall& call) {
  kernels::convolve(ConvolutionPass::weight, shape_of(call.in[0].shape(), call.in[1].shape(), call.attrs), call.in[0], call.in[1],
                    call.out[0], call.workspace);
}

std::size_t workspace(const CostCall& call) {
  return kernels::convolution_workspace(ConvolutionPass::weight, shape_of(call.in[0]->shape, call.in[1]->shape, call.attrs),
                                        *call.in[0], *call.in[1], *call.out[0]);
}

Cost cost(const CostCall& call) { return convolution_cost(shape_of(call.in[0]->shape, call.in[1]->shape, call.attrs), call); }

// It is linear in both: its adjoints are the gradient of the images and the convolution itself.
void gradient(Gradient& g) {
  if (g.wants(0)) g.set(0, convolution_call<"conv2d_input_gradient">(g, g.in(1), g.grad(), g.in_desc(0).shape));
  if (g.wants(1)) g.set(1, convolution_call<"conv2d">(g, g.in(0), g.grad()));
}

}  // namespace

OpDef conv2d_weight_gradient() {
  return {
      .doc =
          "The gradient of conv2d with respect to its weight, of height and width `size`, from its images and the gradient of "
          "its result: "
          "(O, C / groups, KH, KW), contiguous.",
      .inputs = {"x", "grad"},
      .attributes = convolution_attributes("Height and width of the weight."),
      .dtypes = same_float_dtype,
      .infer = infer,
      .compute = compute,
      .workspace = workspace,
      .cost = cost,
      .gradient = gradient,
      .saves_inputs = 0b11,
      .samples = {{.inputs = {{2, 3, 5, 6}, {2, 4, 3, 5}}, .attrs = {{"size", Dims{3, 2}}}},
                  {.inputs = {{2, 4, 6, 5}, {2, 6, 3, 7}},
                   .attrs = {{"size", Dims{3, 3}}, {"stride", Dims{2, 1}}, {"padding", Dims{1, 2}}, {"groups", 2}}},
                  {.inputs = {{0, 2, 4, 4}, {0, 3, 3, 3}}, .attrs = {{"size", Dims{2, 2}}}}},
  };
}

}  // namespace regrow::ops
