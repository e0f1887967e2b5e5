// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/pooling.h"

#include <algorithm>

#include "regrow/ops/convolution.h"
#include "regrow/tensor/format.h"

namespace regrow {

std::vector<AttrSpec> pooling_attributes(std::string_view size_doc) {
  std::vector<AttrSpec> specs;
  if (!size_doc.empty()) specs.push_back({.name = "size", .type = AttrType::dims, .doc = size_doc});
  specs.push_back({.name = "kernel", .type = AttrType::dims, .doc = "Height and width of the window."});
  specs.push_back({.name = "stride",
                   .type = AttrType::dims,
                   .optional = true,
                   .doc = "Steps of the window; those of the kernel if not given."});
  specs.push_back({.name = "padding",
                   .type = AttrType::dims,
                   .fallback = Dims{0, 0},
                   .doc = "Elements added on either side of height and width."});
  return specs;
}

kernels::Pooling pooling_of(const Shape& image, const Attrs& attrs) {
  require(image.size() == 4, "needs images (N, C, H, W), not {}", image);
  kernels::Pooling s;
  s.batch = image[0], s.channels = image[1];
  s.window = pair_attribute(attrs, "kernel", 1);
  s.stride = attrs.has("stride") ? pair_attribute(attrs, "stride", 1) : s.window;
  s.padding = pair_attribute(attrs, "padding", 0);
  for (std::size_t i = 0; i < 2; ++i) {
    s.in[i] = image[i + 2];
    const std::int64_t padded = s.in[i] + 2 * s.padding[i];
    require(s.padding[i] < s.window[i] && s.in[i] > 0, "a window of {} could lie in the padding of {} alone: {}", s.window[i],
            s.padding[i], image);
    require(padded >= s.window[i], "the window spans {}, the padded image only {}: {}", s.window[i], padded, image);
    s.out[i] = (padded - s.window[i]) / s.stride[i] + 1;
  }
  return s;
}

Shape result_shape(const kernels::Pooling& s) { return {s.batch, s.channels, s.out[0], s.out[1]}; }

void one_float_dtype(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  require(is_floating(in[0]), "needs a floating type, not {}", name_of(in[0]));
  for (DType dtype : in) require(dtype == in[0], "needs operands of one type, not {} and {}", name_of(in[0]), name_of(dtype));
  out[0] = in[0];
}

Strides strides_as(const Desc& image, const Shape& shape) {
  const bool last = is_channels_last(image.shape, image.strides) && !image.contiguous();
  return last ? channels_last_strides(shape) : contiguous_strides(shape);
}

Cost pooling_cost(const kernels::Pooling& shape, const CostCall& call) {
  Cost cost;
  cost.flops = static_cast<double>(element_count(result_shape(shape)) * shape.area());
  for (std::span<const Desc* const> descs : {call.in, call.out})
    for (const Desc* desc : descs) cost.bytes += static_cast<double>(desc->count()) * static_cast<double>(size_of(desc->dtype));
  return cost;
}

}  // namespace regrow
