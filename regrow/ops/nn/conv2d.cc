// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/convolution.h"

namespace regrow::ops {
namespace {

using kernels::ConvolutionPass;

kernels::Convolution shape_of(const Shape& x, const Shape& weight, const Attrs& attrs) {
  return convolution_of(x, weight, attrs);
}

void infer(const InferCall& call) { describe_image(call, result_shape(shape_of(call[0].shape, call[1].shape, call.attrs))); }

void compute(const ComputeCall& call) {
  kernels::convolve(ConvolutionPass::result, shape_of(call.in[0].shape(), call.in[1].shape(), call.attrs), call.in[0], call.in[1],
                    call.out[0], call.workspace);
}

std::size_t workspace(const CostCall& call) {
  return kernels::convolution_workspace(ConvolutionPass::result, shape_of(call.in[0]->shape, call.in[1]->shape, call.attrs),
                                        *call.in[0], *call.in[1], *call.out[0]);
}

Cost cost(const CostCall& call) { return convolution_cost(shape_of(call.in[0]->shape, call.in[1]->shape, call.attrs), call); }

void gradient(Gradient& g) {
  if (g.wants(0)) g.set(0, convolution_call<"conv2d_input_gradient">(g, g.grad(), g.in(1), g.in_desc(0).shape));
  if (g.wants(1)) g.set(1, convolution_call<"conv2d_weight_gradient">(g, g.in(0), g.grad(), g.in_desc(1).shape));
}

}  // namespace

OpDef conv2d() {
  return {
      .doc =
          "The convolution (cross-correlation) of images x (N, C, H, W) with weight (O, C / groups, KH, KW): (N, O, OH, OW), "
          "each size "
          "floor((H + 2 padding - dilation (KH - 1) - 1) / stride) + 1, channels-last in memory. Channels-last images are read "
          "where they "
          "are, others are reordered in the workspace. f16 computes in f32, bf16 accumulates in f32.",
      .inputs = {"x", "weight"},
      .attributes = convolution_attributes(),
      .dtypes = same_float_dtype,
      .infer = infer,
      .compute = compute,
      .workspace = workspace,
      .cost = cost,
      .autocasts = true,
      .gradient = gradient,
      .saves_inputs = 0b11,
      .samples = {{.inputs = {{2, 3, 5, 6}, {4, 3, 3, 2}}},
                  {.inputs = {{2, 4, 6, 5}, {6, 2, 3, 3}},
                   .attrs = {{"stride", Dims{2, 1}}, {"padding", Dims{1, 2}}, {"groups", 2}}},
                  {.inputs = {{1, 2, 7, 7}, {2, 2, 2, 3}}, .attrs = {{"dilation", Dims{3, 2}}, {"padding", Dims{1}}}},
                  {.inputs = {{0, 2, 4, 4}, {3, 2, 3, 3}}}},
  };
}

}  // namespace regrow::ops
