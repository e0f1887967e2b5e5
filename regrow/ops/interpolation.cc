// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/interpolation.h"

#include "regrow/ops/convolution.h"
#include "regrow/tensor/format.h"

namespace regrow {

std::vector<AttrSpec> interpolation_attributes(std::string_view size_doc) {
  return {{.name = "size", .type = AttrType::dims, .doc = size_doc},
          {.name = "mode", .type = AttrType::text, .fallback = std::string("nearest"), .doc = "nearest or bilinear."},
          {.name = "align_corners",
           .type = AttrType::boolean,
           .fallback = false,
           .doc = "bilinear: the corner pixels keep their places, not the corners of the corner pixels."}};
}

kernels::Interpolation interpolation_of(const Attrs& attrs) {
  const std::string& mode = attrs.get<std::string>("mode");
  const bool align = attrs.get<bool>("align_corners");
  require(mode == "nearest" || mode == "bilinear", "mode is nearest or bilinear, not {}", mode);
  require(mode == "bilinear" || !align, "only bilinear can align corners, not {}", mode);
  return {.bilinear = mode == "bilinear", .align_corners = align};
}

Shape resampled_shape(const Shape& image, const Attrs& attrs) {
  require(image.size() == 4, "needs images (N, C, H, W), not {}", image);
  const kernels::Pair size = pair_attribute(attrs, "size", 1);
  require(image[2] > 0 && image[3] > 0, "there are no pixels in {}", image);
  return {image[0], image[1], size[0], size[1]};
}

}  // namespace regrow
