// SPDX-License-Identifier: Apache-2.0
// What the pooling operators share: attributes, the shape rule, calls of one from the gradient of another. Any thread.
#pragma once

#include "regrow/kernels/pooling.h"
#include "regrow/ops/op.h"
#include "regrow/ops/var.h"

namespace regrow {

// kernel, stride (the kernel by default), padding: one number for both axes, or height and width.
std::vector<AttrSpec> pooling_attributes(std::string_view size_doc = {});

// The geometry of images (N, C, H, W). Each axis of the result has the size floor((H + 2 padding - kernel) / stride) + 1.
// Throws Error if the window does not fit, or if one could lie in the padding alone.
kernels::Pooling pooling_of(const Shape& image, const Attrs& attrs);
Shape result_shape(const kernels::Pooling& shape);

// The type of operands that are all of one floating type. Throws Error otherwise.
void one_float_dtype(std::span<const DType> in, const Attrs& attrs, std::span<DType> out);
// Channels-last if the image is, contiguous otherwise.
Strides strides_as(const Desc& image, const Shape& shape);
Cost pooling_cost(const kernels::Pooling& shape, const CostCall& call);

// A pooling operator with the geometry of the one whose gradient is taken.
template <FixedString Name>
Var pooling_call(const Gradient& g, std::initializer_list<Var> in) {
  const Attrs& at = g.attrs();
  return op<Name>(in, {{"kernel", at.value("kernel")}, {"stride", at.value("stride")}, {"padding", at.value("padding")}});
}

}  // namespace regrow
