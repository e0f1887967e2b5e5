// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/interpolation.h"
#include "regrow/ops/pooling.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  (void)interpolation_of(call.attrs);  // checks
  call.out[0].shape = resampled_shape(call[0].shape, call.attrs);
  call.out[0].strides = strides_as(call[0], call.out[0].shape);
}

void compute(const ComputeCall& call) {
  kernels::interpolate(interpolation_of(call.attrs), call.in[0], call.out[0], call.workspace);
}

std::size_t workspace(const CostCall& call) { return kernels::interpolate_workspace(*call.in[0], *call.out[0]); }

void gradient(Gradient& g) {
  const Shape& image = g.in_desc(0).shape;
  g.set(0, op<"interpolate_gradient">({g.grad()}, {{"size", Dims{image[2], image[3]}},
                                                   {"mode", g.attrs().value("mode")},
                                                   {"align_corners", g.attrs().value("align_corners")}}));
}

}  // namespace

OpDef interpolate() {
  return {
      .doc =
          "Images x (N, C, H, W) resampled to the height and width `size`: nearest takes pixel floor(i H / size), bilinear mixes "
          "the four around the place of i, whose scale is H / size, or (H - 1) / (size - 1) with align_corners. Channels-last "
          "images "
          "give a channels-last result.",
      .inputs = {"x"},
      .attributes = interpolation_attributes("Height and width of the result."),
      .dtypes = one_float_dtype,
      .infer = infer,
      .compute = compute,
      .workspace = workspace,
      .gradient = gradient,
      .samples = {{.inputs = {{2, 3, 2, 3}}, .attrs = {{"size", Dims{4, 6}}}},
                  {.inputs = {{1, 2, 5, 4}}, .attrs = {{"size", Dims{3, 7}}}},
                  {.inputs = {{2, 9, 3, 4}}, .attrs = {{"size", Dims{6, 7}}, {"mode", std::string("bilinear")}}},
                  {.inputs = {{1, 2, 5, 3}},
                   .attrs = {{"size", Dims{3, 6}}, {"mode", std::string("bilinear")}, {"align_corners", true}}},
                  {.inputs = {{0, 2, 3, 3}}, .attrs = {{"size", 5}}}},
  };
}

}  // namespace regrow::ops
