// SPDX-License-Identifier: Apache-2.0
// Functions of images (N, C, H, W) that are made of others. Any thread. Differentiable to any order, as their parts are.
#pragma once

#include <string>

#include "regrow/ops.h"

namespace regrow {

struct ConvTranspose2dOptions {
  Sizes stride = 1;  // one value for both axes, or (vertical, horizontal)
  Sizes padding = 0;
  Sizes output_padding = 0;  // rows and columns added below and on the right: less than stride or dilation
  Sizes dilation = 1;
  std::int64_t groups = 1;
};
// The adjoint of conv2d: of x (N, C, H, W) with weight (C, O / groups, KH, KW), (N, O, OH, OW), each size
// (H - 1) stride - 2 padding + dilation (KH - 1) + output_padding + 1.
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const ConvTranspose2dOptions& options = {},
                        Site site = Site::here());

struct UpsampleOptions {
  std::string mode = "nearest";
  bool align_corners = false;
};
// interpolate to the size floor(scale H), floor(scale W); places follow from the sizes.
Tensor upsample(const Tensor& x, double scale, const UpsampleOptions& options = {}, Site site = Site::here());

// x (N, C, ...) normalized by these means and variances (C,), times weight, plus bias (C,), in the type of x: batch_norm as it is
// after training.
Tensor batch_norm_eval(const Tensor& x, const Tensor& mean, const Tensor& variance, const Tensor& weight, const Tensor& bias,
                       double epsilon = 1e-5, Site site = Site::here());

}  // namespace regrow
