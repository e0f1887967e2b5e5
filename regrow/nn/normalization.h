// SPDX-License-Identifier: Apache-2.0
// Batch, layer, RMS and group normalization, with names and defaults as PyTorch has them. One thread at a time.
#pragma once

#include <optional>

#include "regrow/frontend/sizes.h"
#include "regrow/nn/module.h"

namespace regrow::nn {

struct BatchNormOptions {
  double epsilon = 1e-5;
  std::optional<double> momentum = 0.1;  // the share of a new batch in the running statistics; nothing: the mean over all batches
  bool affine = true;                    // whether there are a weight and a bias
  bool track_running_stats = true;       // whether evaluation goes by running statistics, not by the batch's
};

// x (N, C, H, W) with each channel brought to mean 0 and variance 1, times weight, plus bias, (C,) both. In training the
// statistics are those of the batch, and the buffers running_mean, running_var and num_batches_tracked are bound to new values.
class BatchNorm2d : public Module {
 public:
  explicit BatchNorm2d(std::int64_t channels, const BatchNormOptions& options = {}, Site site = Site::here());
  Tensor operator()(const Tensor& x, Site site = Site::here()) const;
  const Parameter& weight() const noexcept { return weight_; }  // without a cell if not affine
  const Parameter& bias() const noexcept { return bias_; }
  const Buffer& running_mean() const noexcept { return running_mean_; }  // without a cell if not tracked
  const Buffer& running_var() const noexcept { return running_var_; }

 private:
  void track(const Tensor& x, const Tensor& mean, const Tensor& variance, Site site) const;

  BatchNormOptions options_;
  Parameter weight_, bias_;
  Buffer running_mean_, running_var_, batches_;
  Tensor ones_, zeros_;  // if not affine
};

struct LayerNormOptions {
  double epsilon = 1e-5;
  bool affine = true;  // whether there are a weight and a bias
  bool bias = true;
};

// The last axes of x, of this shape, brought to mean 0 and variance 1.
class LayerNorm : public Module {
 public:
  explicit LayerNorm(const Sizes& shape, const LayerNormOptions& options = {}, Site site = Site::here());
  Tensor operator()(const Tensor& x, Site site = Site::here()) const;
  const Parameter& weight() const noexcept { return weight_; }
  const Parameter& bias() const noexcept { return bias_; }

 private:
  LayerNormOptions options_;
  Parameter weight_, bias_;
  Tensor ones_, zeros_;  // where there is no parameter
};

struct RMSNormOptions {
  double epsilon = 1e-5;
  bool affine = true;
};

// The last axes of x, of this shape, divided by the root of their mean square.
class RMSNorm : public Module {
 public:
  explicit RMSNorm(const Sizes& shape, const RMSNormOptions& options = {}, Site site = Site::here());
  Tensor operator()(const Tensor& x, Site site = Site::here()) const;
  const Parameter& weight() const noexcept { return weight_; }

 private:
  RMSNormOptions options_;
  Parameter weight_;
  Tensor ones_;
};

struct GroupNormOptions {
  double epsilon = 1e-5;
  bool affine = true;
};

// Each of `groups` slices of the channels of each of the N in x (N, C, ...) brought to mean 0 and variance 1.
class GroupNorm : public Module {
 public:
  GroupNorm(std::int64_t groups, std::int64_t channels, const GroupNormOptions& options = {}, Site site = Site::here());
  Tensor operator()(const Tensor& x, Site site = Site::here()) const;
  const Parameter& weight() const noexcept { return weight_; }
  const Parameter& bias() const noexcept { return bias_; }

 private:
  std::int64_t groups_;
  GroupNormOptions options_;
  Parameter weight_, bias_;
  Tensor ones_, zeros_;
};

}  // namespace regrow::nn
