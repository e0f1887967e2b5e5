// SPDX-License-Identifier: Apache-2.0
// Two-dimensional convolution and pooling of images (N, C, H, W). One thread at a time.
#pragma once

#include <optional>

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

struct MaxPool2dOptions {
  std::optional<Sizes> stride = std::nullopt;  // default: the kernel
  Sizes padding = 0;
};

class MaxPool2d : public Module {
 public:
  explicit MaxPool2d(const Sizes& kernel, const MaxPool2dOptions& options = {}) : kernel_(kernel), options_(options) {}
  Tensor operator()(const Tensor& x, Site site = Site::here()) const;

 private:
  Sizes kernel_;
  MaxPool2dOptions options_;
};

}  // namespace regrow::nn
