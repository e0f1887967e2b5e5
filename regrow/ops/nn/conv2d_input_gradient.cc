// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/convolution.h"
#include "regrow/tensor/format.h"

namespace regrow::ops {
namespace {

using kernels::ConvolutionPass;

Shape image_shape(const Shape& grad, const Shape& weight, const Attrs& attrs) {
  require(grad.size() == 4 && weight.size() == 4,
          "needs a gradient (N, O, OH, OW) and a weight (O, C / groups, KH, KW), not {} and {}", grad, weight);
  const kernels::Pair size = pair_attribute(attrs, "size", 0);
  return {grad[0], weight[1] * attrs.get<std::int64_t>("groups"), size[0], size[1]};
}

kernels::Convolution shape_of(const Shape& grad, const Shape& weight, const Attrs& attrs) {
  return convolution_with_result(image_shape(grad, weight, attrs), weight, grad, attrs);
}

void infer(const InferCall& call) {
  (void)shape_of(call[0].shape, call[1].shape, call.attrs);  // checks
  describe_image(call, image_shape(call[0].shape, call[1].shape, call.attrs));
}

void compute(const ComputeCall& call) {
  kernels::convolve(ConvolutionPass::image, shape_of(call.in[0].shape(), call.in[1].shape(), call.attrs), call.in[0], call.in[1],
                    call.out[0], call.workspace);
}

std::size_t workspace(const CostCall& call) {
  return kernels::convolution_workspace(ConvolutionPass::image, shape_of(call.in[0]->shape, call.in[1]->shape, call.attrs),
                                        *call.in[0], *call.in[1], *call.out[0]);
}

Cost cost(const CostCall& call) { return convolution_cost(shape_of(call.in[0]->shape, call.in[1]->shape, call.attrs), call); }

// It is linear in both: its adjoints are the convolution itself and the gradient of the weight.
void gradient(Gradient& g) {
  if (g.wants(0)) g.set(0, convolution_call<"conv2d">(g, g.grad(), g.in(1)));
  if (g.wants(1)) g.set(1, convolution_call<"conv2d_weight_gradient">(g, g.grad(), g.in(0), g.in_desc(1).shape));
}

}  // namespace

OpDef conv2d_input_gradient() {
  return {
      .doc =
          "The gradient of conv2d with respect to its images, of height and width `size`, from that of its result; also the "
          "transposed "
          "convolution of grad with weight.",
      .inputs = {"grad", "weight"},
      .attributes = convolution_attributes("Height and width of the images."),
      .dtypes = same_float_dtype,
      .infer = infer,
      .compute = compute,
      .workspace = workspace,
      .cost = cost,
      .autocasts = true,  // as conv_transpose2d
      .gradient = gradient,
      .saves_inputs = 0b11,
      .samples = {{.inputs = {{2, 4, 3, 5}, {4, 3, 3, 2}}, .attrs = {{"size", Dims{5, 6}}}},
                  {.inputs = {{2, 6, 3, 7}, {6, 2, 3, 3}},
                   .attrs = {{"size", Dims{6, 5}}, {"stride", Dims{2, 1}}, {"padding", Dims{1, 2}}, {"groups", 2}}},
                  {.inputs = {{0, 2, 3, 3}, {2, 3, 2, 2}}, .attrs = {{"size", Dims{4, 4}}}}},
  };
}

}  // namespace regrow::ops
