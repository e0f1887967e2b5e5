// SPDX-License-Identifier: Apache-2.0
#include "regrow/nn/normalization.h"

#include "regrow/base/error.h"
#include "regrow/frontend/apply.h"
#include "regrow/frontend/create.h"
#include "regrow/frontend/vision.h"
#include "regrow/ops.h"

namespace regrow::nn {
namespace {

Tensor value_or(const Parameter& parameter, const Tensor& other) { return parameter.defined() ? parameter.value() : other; }

}  // namespace

BatchNorm2d::BatchNorm2d(std::int64_t channels, const BatchNormOptions& options, Site site) : options_(options) {
  if (channels < 1) fail_at(site, "BatchNorm2d: there are {} channels", channels);
  if (options.affine) {
    weight_ = add("weight", Parameter(ones({channels}, {}, site), site), site);
    bias_ = add("bias", Parameter(zeros({channels}, {}, site), site), site);
  } else {
    ones_ = ones({channels}, {}, site), zeros_ = zeros({channels}, {}, site);
  }
  if (!options.track_running_stats) return;
  running_mean_ = add("running_mean", Buffer(zeros({channels}, {}, site)), site);
  running_var_ = add("running_var", Buffer(ones({channels}, {}, site)), site);
  batches_ = add("num_batches_tracked", Buffer(zeros({}, {.dtype = DType::i64}, site)), site);
}

void BatchNorm2d::track(const Tensor& x, const Tensor& mean, const Tensor& variance, Site site) const {
  const Shape shape = x.shape(site);
  const std::int64_t count = shape[0] * shape[2] * shape[3];
  if (count < 2) fail_at(site, "BatchNorm2d: training needs more than one value a channel, not {}", to_string(shape));
  const AttrValue momentum = options_.momentum ? AttrValue(*options_.momentum) : AttrValue();
  const std::vector<Tensor> next =
      apply(op("batch_norm_step", {{"count", count}, {"momentum", momentum}}, site),
            {running_mean_.value(), running_var_.value(), batches_.value(), mean.detach(), variance.detach()}, site);
  running_mean_.set_value(next[0], site), running_var_.set_value(next[1], site), batches_.set_value(next[2], site);
}

Tensor BatchNorm2d::operator()(const Tensor& x, Site site) const {
  if (x.rank(site) != 4) fail_at(site, "BatchNorm2d: needs images (N, C, H, W), not {}", to_string(x.shape(site)));
  const Tensor weight = value_or(weight_, ones_), bias = value_or(bias_, zeros_);
  if (!training() && running_mean_.defined())
    return batch_norm_eval(x, running_mean_.value(), running_var_.value(), weight, bias, options_.epsilon, site);
  auto [out, mean, variance] = batch_norm(x, weight, bias, {.epsilon = options_.epsilon}, site);
  if (training() && running_mean_.defined()) track(x, mean, variance, site);
  return out;
}

LayerNorm::LayerNorm(const Sizes& shape, const LayerNormOptions& options, Site site) : options_(options) {
  const Shape size = shape;
  if (options.affine)
    weight_ = add("weight", Parameter(ones(size, {}, site), site), site);
  else
    ones_ = ones(size, {}, site);
  if (options.affine && options.bias)
    bias_ = add("bias", Parameter(zeros(size, {}, site), site), site);
  else
    zeros_ = zeros(size, {}, site);
}

Tensor LayerNorm::operator()(const Tensor& x, Site site) const {
  return layer_norm(x, value_or(weight_, ones_), value_or(bias_, zeros_), {.epsilon = options_.epsilon}, site);
}

RMSNorm::RMSNorm(const Sizes& shape, const RMSNormOptions& options, Site site) : options_(options) {
  if (options.affine)
    weight_ = add("weight", Parameter(ones(Shape(shape), {}, site), site), site);
  else
    ones_ = ones(Shape(shape), {}, site);
}

Tensor RMSNorm::operator()(const Tensor& x, Site site) const {
  return rms_norm(x, value_or(weight_, ones_), {.epsilon = options_.epsilon}, site);
}

GroupNorm::GroupNorm(std::int64_t groups, std::int64_t channels, const GroupNormOptions& options, Site site)
    : groups_(groups), options_(options) {
  if (groups < 1 || channels < 1 || channels % groups != 0)
    fail_at(site, "GroupNorm: {} channels do not fall into {} groups", channels, groups);
  if (options.affine) {
    weight_ = add("weight", Parameter(ones({channels}, {}, site), site), site);
    bias_ = add("bias", Parameter(zeros({channels}, {}, site), site), site);
  } else {
    ones_ = ones({channels}, {}, site), zeros_ = zeros({channels}, {}, site);
  }
}

Tensor GroupNorm::operator()(const Tensor& x, Site site) const {
  return group_norm(x, value_or(weight_, ones_), value_or(bias_, zeros_), groups_, {.epsilon = options_.epsilon}, site);
}

}  // namespace regrow::nn
