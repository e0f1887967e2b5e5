// SPDX-License-Identifier: Apache-2.0
// What conv2d and its two gradients share: attributes, the shape rule, calls of one from the gradient of another. Any thread.
#pragma once

#include "regrow/kernels/convolution.h"
#include "regrow/ops/op.h"
#include "regrow/ops/var.h"

namespace regrow {

// stride, padding, dilation (one number for both axes, or height and width), groups; the gradients have `size` besides.
std::vector<AttrSpec> convolution_attributes(std::string_view size_doc = {});

// One or two numbers, each at least `least`. Throws Error "stride must be at least 1, not (0,)" otherwise.
kernels::Pair pair_attribute(const Attrs& attrs, std::string_view name, std::int64_t least);

// The geometry from the sizes of image (N, C, H, W) and weight (O, C / groups, KH, KW). Each axis of the result has the size
// floor((H + 2 padding - dilation (KH - 1) - 1) / stride) + 1. Throws Error if they do not fit.
kernels::Convolution convolution_of(const Shape& image, const Shape& weight, const Attrs& attrs);
Shape result_shape(const kernels::Convolution& shape);

// Of the gradient operators: `given` must be the result's shape. Throws Error otherwise.
kernels::Convolution convolution_with_result(const Shape& image, const Shape& weight, const Shape& given, const Attrs& attrs);

// The type of two operands of one floating type. Throws Error otherwise.
void same_float_dtype(std::span<const DType> in, const Attrs& attrs, std::span<DType> out);
// out[0] as channels-last activation.
void describe_image(const InferCall& call, const Shape& shape);
Cost convolution_cost(const kernels::Convolution& shape, const CostCall& call);

// conv2d, conv2d_input_gradient or conv2d_weight_gradient with the geometry of the operator whose gradient is taken.
template <FixedString Name>
Var convolution_call(const Gradient& g, Var a, Var b) {
  const Attrs& at = g.attrs();
  return op<Name>({a, b}, {{"stride", at.value("stride")},
                           {"padding", at.value("padding")},
                           {"dilation", at.value("dilation")},
                           {"groups", at.value("groups")}});
}
template <FixedString Name>
Var convolution_call(const Gradient& g, Var a, Var b, const Shape& of_size) {
  const Attrs& at = g.attrs();
  return op<Name>({a, b}, {{"size", Dims{of_size[2], of_size[3]}},
                           {"stride", at.value("stride")},
                           {"padding", at.value("padding")},
                           {"dilation", at.value("dilation")},
                           {"groups", at.value("groups")}});
}

}  // namespace regrow
