// SPDX-License-Identifier: Apache-2.0
// What the pooling operators share: attributes, the shape rule, calls of one from the gradient of another. Any thread.
#pragma once

#include "regrow/kernels/pooling.h"
#include "regrow/ops/op.h"
#include "regrow/ops/var.h"

namespace regrow {

// kernel, stride (the kernel by default), padding: one number for both axes, or height and width; ceil_mode.
std::vector<AttrSpec> pooling_attributes(std::string_view size_doc = {});
// Of means, count_include_pad and divisor_override besides.
std::vector<AttrSpec> mean_pooling_attributes(std::string_view size_doc = {});

// The geometry of images (N, C, H, W). Each axis of the result has the size floor((H + 2 padding - kernel) / stride) + 1; with
// ceil_mode it is rounded up, but no window begins behind the image. Throws Error if the window does not fit, or if one could lie
// in the padding alone.
kernels::Pooling pooling_of(const Shape& image, const Attrs& attrs);
kernels::Pooling mean_pooling_of(const Shape& image, const Attrs& attrs);
// Windows [floor(i H / OH), ceil((i + 1) H / OH)) from an image (N, C, H, W) to a result (N, C, OH, OW). Throws Error if they do
// not fit.
kernels::Pooling adaptive_pooling(const Shape& image, const Shape& result);
Shape result_shape(const kernels::Pooling& shape);

// The type of operands that are all of one floating type. Throws Error otherwise.
void one_float_dtype(std::span<const DType> in, const Attrs& attrs, std::span<DType> out);
// Channels-last if the image's channels lie closest together, as in a slice of a channels-last image, or in one of a single
// pixel; contiguous otherwise.
Strides strides_as(const Desc& image, const Shape& shape);
Cost pooling_cost(const kernels::Pooling& shape, const CostCall& call);

// (N, C, size) for (N, C, H, W), with `size` an attribute. Throws Error unless it is an image.
Shape with_size(const Shape& image, const Attrs& attrs);

// A pooling operator with the geometry of the one whose gradient is taken.
template <FixedString Name>
Var pooling_call(const Gradient& g, std::initializer_list<Var> in) {
  const Attrs& at = g.attrs();
  return op<Name>(in, {{"kernel", at.value("kernel")},
                       {"stride", at.value("stride")},
                       {"padding", at.value("padding")},
                       {"ceil_mode", at.value("ceil_mode")}});
}

}  // namespace regrow
