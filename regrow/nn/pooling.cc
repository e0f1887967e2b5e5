// SPDX-License-Identifier: Apache-2.0
#include "regrow/nn/pooling.h"

#include "regrow/frontend/vision.h"
#include "regrow/ops.h"

namespace regrow::nn {

Tensor MaxPool2d::operator()(const Tensor& x, Site site) const {
  return max_pool2d(x, kernel_, {.stride = options_.stride, .padding = options_.padding, .ceil_mode = options_.ceil_mode}, site);
}

Tensor AvgPool2d::operator()(const Tensor& x, Site site) const {
  return avg_pool2d(x, kernel_,
                    {.stride = options_.stride,
                     .padding = options_.padding,
                     .ceil_mode = options_.ceil_mode,
                     .count_include_pad = options_.count_include_pad,
                     .divisor_override = options_.divisor_override},
                    site);
}

Tensor AdaptiveAvgPool2d::operator()(const Tensor& x, Site site) const { return adaptive_avg_pool2d(x, size_, site); }

Tensor AdaptiveMaxPool2d::operator()(const Tensor& x, Site site) const { return adaptive_max_pool2d(x, size_, site); }

Upsample::Upsample(const UpsampleOptions& options, Site site) : options_(options) {
  if (options.size.has_value() == options.scale.has_value()) fail_at(site, "Upsample: needs a size or a scale, and not both");
}

Tensor Upsample::operator()(const Tensor& x, Site site) const {
  if (options_.scale) return upsample(x, *options_.scale, {.mode = options_.mode, .align_corners = options_.align_corners}, site);
  return interpolate(x, *options_.size, {.mode = options_.mode, .align_corners = options_.align_corners}, site);
}

}  // namespace regrow::nn
