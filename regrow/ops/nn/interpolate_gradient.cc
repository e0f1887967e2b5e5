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
  kernels::interpolate_back(interpolation_of(call.attrs), call.in[0], call.out[0], call.workspace);
}

std::size_t workspace(const CostCall& call) { return kernels::interpolate_back_workspace(*call.in[0], *call.out[0]); }

void gradient(Gradient& g) {
  const Shape& result = g.in_desc(0).shape;
  g.set(0, op<"interpolate">({g.grad()}, {{"size", Dims{result[2], result[3]}},
                                          {"mode", g.attrs().value("mode")},
                                          {"align_corners", g.attrs().value("align_corners")}}));
}

}  // namespace

OpDef interpolate_gradient() {
  return {
      .doc = "The gradient of interpolate with respect to its images, of height and width `size`, from that of its result.",
      .inputs = {"grad"},
      .attributes = interpolation_attributes("Height and width of the images."),
      .dtypes = one_float_dtype,
      .infer = infer,
      .compute = compute,
      .workspace = workspace,
      .gradient = gradient,
      .samples = {{.inputs = {{2, 3, 4, 6}}, .attrs = {{"size", Dims{2, 3}}}},
                  {.inputs = {{2, 9, 6, 7}}, .attrs = {{"size", Dims{3, 4}}, {"mode", std::string("bilinear")}}},
                  {.inputs = {{1, 2, 3, 6}},
                   .attrs = {{"size", Dims{5, 3}}, {"mode", std::string("bilinear")}, {"align_corners", true}}},
                  {.inputs = {{0, 2, 5, 5}}, .attrs = {{"size", 3}}}},
  };
}

}  // namespace regrow::ops
