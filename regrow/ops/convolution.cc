// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/convolution.h"
#include "regrow/tensor/format.h"

#include <algorithm>

namespace regrow {

std::vector<AttrSpec> convolution_attributes(std::string_view size_doc) {
  std::vector<AttrSpec> specs;
  if (!size_doc.empty()) specs.push_back({.name = "size", .type = AttrType::dims, .doc = size_doc});
  specs.push_back(
      {.name = "stride", .type = AttrType::dims, .fallback = Dims{1, 1}, .doc = "Steps of the window along height and width."});
  specs.push_back({.name = "padding",
                   .type = AttrType::dims,
                   .fallback = Dims{0, 0},
                   .doc = "Zeros added on either side of height and width."});
  specs.push_back(
      {.name = "dilation", .type = AttrType::dims, .fallback = Dims{1, 1}, .doc = "Distances between elements of the window."});
  specs.push_back(
      {.name = "groups", .fallback = std::int64_t{1}, .doc = "Independent convolutions over slices of the channels."});
  return specs;
}

kernels::Pair pair_attribute(const Attrs& attrs, std::string_view name, std::int64_t least) {
  const Dims& given = attrs.get<Dims>(name);
  require(given.size() == 1 || given.size() == 2, "{} is one number or two, not {}", name, given);
  require(std::ranges::all_of(given, [&](std::int64_t x) { return x >= least; }), "{} must be at least {}, not {}", name, least,
          given);
  return {given[0], given.back()};
}

kernels::Convolution convolution_of(const Shape& image, const Shape& weight, const Attrs& attrs) {
  require(image.size() == 4 && weight.size() == 4,
          "needs an image (N, C, H, W) and a weight (O, C / groups, KH, KW), not {} and {}", image, weight);
  kernels::Convolution s;
  s.stride = pair_attribute(attrs, "stride", 1), s.padding = pair_attribute(attrs, "padding", 0),
  s.dilation = pair_attribute(attrs, "dilation", 1);
  s.groups = attrs.get<std::int64_t>("groups");
  require(s.groups >= 1, "groups must be at least 1, not {}", s.groups);
  s.batch = image[0], s.in_channels = image[1], s.out_channels = weight[0];
  require(s.in_channels == weight[1] * s.groups, "the image has {} channels, the weight expects {}: {} x {}", s.in_channels,
          weight[1] * s.groups, image, weight);
  require(s.out_channels % s.groups == 0, "{} channels of the result are no multiple of {} groups", s.out_channels, s.groups);
  for (std::size_t i = 0; i < 2; ++i) {
    s.in[i] = image[i + 2], s.kernel[i] = weight[i + 2];
    require(s.kernel[i] >= 1, "the window is empty: {}", weight);
    const std::int64_t reach = s.dilation[i] * (s.kernel[i] - 1) + 1, padded = s.in[i] + 2 * s.padding[i];
    require(padded >= reach, "the window spans {}, the padded image only {}: {} x {}", reach, padded, image, weight);
    s.out[i] = (padded - reach) / s.stride[i] + 1;
  }
  return s;
}

Shape result_shape(const kernels::Convolution& s) { return {s.batch, s.out_channels, s.out[0], s.out[1]}; }

kernels::Convolution convolution_with_result(const Shape& image, const Shape& weight, const Shape& given, const Attrs& attrs) {
  const kernels::Convolution s = convolution_of(image, weight, attrs);
  require(given == result_shape(s), "{} x {} has the shape {}, not {}", image, weight, result_shape(s), given);
  return s;
}

void same_float_dtype(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  require(is_floating(in[0]) && in[0] == in[1], "needs operands of one floating type, not {} and {}", name_of(in[0]),
          name_of(in[1]));
  out[0] = in[0];
}

void describe_image(const InferCall& call, const Shape& shape) {
  call.out[0].shape = shape;
  call.out[0].strides = channels_last_strides(shape);
}

Cost convolution_cost(const kernels::Convolution& shape, const CostCall& call) {
  Cost cost;
  cost.flops = 2 * shape.macs();
  for (const Desc* desc : {call.in[0], call.in[1], call.out[0]})
    cost.bytes += static_cast<double>(desc->count()) * static_cast<double>(size_of(desc->dtype));
  return cost;
}

}  // namespace regrow
