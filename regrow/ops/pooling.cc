// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/pooling.h"

#include <algorithm>
#include <cstdlib>

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
  specs.push_back({.name = "ceil_mode",
                   .type = AttrType::boolean,
                   .fallback = false,
                   .doc = "Whether a last window that the padded image fills in part counts."});
  return specs;
}

std::vector<AttrSpec> mean_pooling_attributes(std::string_view size_doc) {
  std::vector<AttrSpec> specs = pooling_attributes(size_doc);
  specs.push_back({.name = "count_include_pad",
                   .type = AttrType::boolean,
                   .fallback = true,
                   .doc = "Whether elements of the padding count."});
  specs.push_back({.name = "divisor_override",
                   .type = AttrType::integer,
                   .optional = true,
                   .doc = "What sums are divided by instead of the number of elements."});
  return specs;
}

namespace {

std::int64_t window_count(std::int64_t in, std::int64_t padding, std::int64_t window, std::int64_t stride, bool up) {
  const std::int64_t free = in + 2 * padding - window, count = (free + (up ? stride - 1 : 0)) / stride + 1;
  return up && (count - 1) * stride >= in + padding ? count - 1 : count;
}

}  // namespace

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
    s.out[i] = window_count(s.in[i], s.padding[i], s.window[i], s.stride[i], attrs.get<bool>("ceil_mode"));
  }
  return s;
}

kernels::Pooling mean_pooling_of(const Shape& image, const Attrs& attrs) {
  kernels::Pooling s = pooling_of(image, attrs);
  s.counts_padding = attrs.get<bool>("count_include_pad");
  if (attrs.has("divisor_override")) {
    s.divisor = attrs.get<std::int64_t>("divisor_override");
    require(s.divisor != 0, "divisor_override is 0");
  }
  return s;
}

kernels::Pooling adaptive_pooling(const Shape& image, const Shape& result) {
  require(image.size() == 4, "needs images (N, C, H, W), not {}", image);
  require(result.size() == 4 && result[0] == image[0] && result[1] == image[1], "{} does not become {}", image, result);
  kernels::Pooling s{.batch = image[0], .channels = image[1], .adaptive = true};
  for (std::size_t i = 0; i < 2; ++i) {
    s.in[i] = image[i + 2], s.out[i] = result[i + 2];
    require(s.in[i] > 0 && s.out[i] > 0, "there are no pixels in {} or {}", image, result);
    s.window[i] = (s.in[i] + s.out[i] - 1) / s.out[i] + (s.in[i] % s.out[i] == 0 ? 0 : 1);
  }
  return s;
}

Shape with_size(const Shape& image, const Attrs& attrs) {
  require(image.size() == 4, "needs images (N, C, H, W), not {}", image);
  const kernels::Pair size = pair_attribute(attrs, "size", 1);
  return {image[0], image[1], size[0], size[1]};
}

Shape result_shape(const kernels::Pooling& s) { return {s.batch, s.channels, s.out[0], s.out[1]}; }

void one_float_dtype(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  require(is_floating(in[0]), "needs a floating type, not {}", name_of(in[0]));
  for (DType dtype : in) require(dtype == in[0], "needs operands of one type, not {} and {}", name_of(in[0]), name_of(dtype));
  out[0] = in[0];
}

Strides strides_as(const Desc& image, const Shape& shape) {
  const std::int64_t channel = std::abs(image.strides[1]);
  bool last = image.shape[1] > 1 && channel != 0;
  for (std::size_t i : {2, 3}) {
    const std::int64_t step = std::abs(image.strides[i]);
    last = last && (image.shape[i] == 1 || step == 0 || step > channel);
  }
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
