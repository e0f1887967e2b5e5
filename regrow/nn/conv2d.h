// SPDX-License-Identifier: Apache-2.0
// Two-dimensional convolution of images (N, C, H, W). One thread at a time.
#pragma once

#include "regrow/frontend/sizes.h"
#include "regrow/nn/module.h"

namespace regrow::nn {

struct Conv2dOptions {
  Sizes stride = 1;  // one value for both axes, or (vertical, horizontal)
  Sizes padding = 0;
  Sizes dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
};

// Weight (out, in / groups, kernel…) and bias (out,), both drawn from U(-1 / sqrt(fan in), 1 / sqrt(fan in)), as PyTorch does.
class Conv2d : public Module {
 public:
  Conv2d(std::int64_t in, std::int64_t out, const Sizes& kernel, const Conv2dOptions& options = {}, Site site = Site::here());
  Tensor operator()(const Tensor& x, Site site = Site::here()) const;
  const Parameter& weight() const noexcept { return weight_; }
  const Parameter& bias() const noexcept { return bias_; }  // without a cell if there is none

 private:
  Conv2dOptions options_;
  Parameter weight_, bias_;
};

struct ConvTranspose2dOptions {
  Sizes stride = 1;
  Sizes padding = 0;
  Sizes output_padding = 0;  // rows and columns that the result has more, below and on the right
  Sizes dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
};

// The adjoint of a convolution, from images with `in` channels to some with `out`. Weight (in, out / groups, kernel...) and bias
// (out,), drawn as PyTorch draws them: from U(-b, b), 1 / b^2 = out / groups times the elements of the kernel.
class ConvTranspose2d : public Module {
 public:
  ConvTranspose2d(std::int64_t in, std::int64_t out, const Sizes& kernel, const ConvTranspose2dOptions& options = {},
                  Site site = Site::here());
  Tensor operator()(const Tensor& x, Site site = Site::here()) const;
  const Parameter& weight() const noexcept { return weight_; }
  const Parameter& bias() const noexcept { return bias_; }  // without a cell if there is none

 private:
  ConvTranspose2dOptions options_;
  Parameter weight_, bias_;
};

}  // namespace regrow::nn
