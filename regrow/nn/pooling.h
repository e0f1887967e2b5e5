// SPDX-License-Identifier: Apache-2.0
// Pooling and resampling of images (N, C, H, W). One thread at a time.
#pragma once

#include <optional>
#include <string>

#include "regrow/frontend/sizes.h"
#include "regrow/nn/module.h"

namespace regrow::nn {

struct MaxPool2dOptions {
  std::optional<Sizes> stride = std::nullopt;  // default: the kernel
  Sizes padding = 0;
  bool ceil_mode = false;
};

class MaxPool2d : public Module {
 public:
  explicit MaxPool2d(const Sizes& kernel, const MaxPool2dOptions& options = {}) : kernel_(kernel), options_(options) {}
  Tensor operator()(const Tensor& x, Site site = Site::here()) const;

 private:
  Sizes kernel_;
  MaxPool2dOptions options_;
};

struct AvgPool2dOptions {
  std::optional<Sizes> stride = std::nullopt;  // default: the kernel
  Sizes padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
  std::optional<std::int64_t> divisor_override = std::nullopt;
};

class AvgPool2d : public Module {
 public:
  explicit AvgPool2d(const Sizes& kernel, const AvgPool2dOptions& options = {}) : kernel_(kernel), options_(options) {}
  Tensor operator()(const Tensor& x, Site site = Site::here()) const;

 private:
  Sizes kernel_;
  AvgPool2dOptions options_;
};

// Means, or maxima, of windows that give a result of this height and width.
class AdaptiveAvgPool2d : public Module {
 public:
  explicit AdaptiveAvgPool2d(const Sizes& size) : size_(size) {}
  Tensor operator()(const Tensor& x, Site site = Site::here()) const;

 private:
  Sizes size_;
};

class AdaptiveMaxPool2d : public Module {
 public:
  explicit AdaptiveMaxPool2d(const Sizes& size) : size_(size) {}
  Tensor operator()(const Tensor& x, Site site = Site::here()) const;

 private:
  Sizes size_;
};

struct UpsampleOptions {
  std::optional<Sizes> size = std::nullopt;  // height and width of the result, or
  std::optional<double> scale = std::nullopt;
  std::string mode = "nearest";  // or bilinear
  bool align_corners = false;
};

class Upsample : public Module {
 public:
  explicit Upsample(const UpsampleOptions& options, Site site = Site::here());
  Tensor operator()(const Tensor& x, Site site = Site::here()) const;

 private:
  UpsampleOptions options_;
};

}  // namespace regrow::nn
