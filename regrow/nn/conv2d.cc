// SPDX-License-Identifier: Apache-2.0
#include "regrow/nn/conv2d.h"

#include <cmath>

#include "regrow/frontend/vision.h"
#include "regrow/nn/initializer.h"
#include "regrow/ops.h"

namespace regrow::nn {
namespace {

Shape weight_shape(std::int64_t first, std::int64_t second, const Sizes& kernel, std::int64_t groups, const char* name,
                   Site site) {
  if (groups < 1 || first % groups != 0 || second % groups != 0)
    fail_at(site, "{}: {} groups do not divide both {} and {} channels", name, groups, first, second);
  if (kernel.size() != 1 && kernel.size() != 2)
    fail_at(site, "{}: the kernel has one size or two, not {}", name, to_string(kernel));
  return {first, second / groups, kernel[0], kernel.back()};
}

double bound_of(const Shape& weight) {
  const std::int64_t fan_in = fans_of(weight).in;
  return fan_in > 0 ? 1.0 / std::sqrt(static_cast<double>(fan_in)) : 0.0;
}

Tensor with_bias(const Tensor& out, const Parameter& bias, Site site) {
  return bias.defined() ? add(out, bias.value().reshape({-1, 1, 1}, site), site) : out;
}

}  // namespace

Conv2d::Conv2d(std::int64_t in, std::int64_t out, const Sizes& kernel, const Conv2dOptions& options, Site site)
    : options_(options) {
  const Shape shape = weight_shape(out, in, kernel, options.groups, "Conv2d", site);
  weight_ = add("weight", Parameter(uniform_within(shape, bound_of(shape), site), site), site);
  if (options.bias) bias_ = add("bias", Parameter(uniform_within({out}, bound_of(shape), site), site), site);
}

Tensor Conv2d::operator()(const Tensor& x, Site site) const {
  const Tensor out = conv2d(
      x, weight_.value(),
      {.stride = options_.stride, .padding = options_.padding, .dilation = options_.dilation, .groups = options_.groups}, site);
  return with_bias(out, bias_, site);
}

ConvTranspose2d::ConvTranspose2d(std::int64_t in, std::int64_t out, const Sizes& kernel, const ConvTranspose2dOptions& options,
                                 Site site)
    : options_(options) {
  const Shape shape = weight_shape(in, out, kernel, options.groups, "ConvTranspose2d", site);
  weight_ = add("weight", Parameter(uniform_within(shape, bound_of(shape), site), site), site);
  if (options.bias) bias_ = add("bias", Parameter(uniform_within({out}, bound_of(shape), site), site), site);
}

Tensor ConvTranspose2d::operator()(const Tensor& x, Site site) const {
  const Tensor out = conv_transpose2d(x, weight_.value(),
                                      {.stride = options_.stride,
                                       .padding = options_.padding,
                                       .output_padding = options_.output_padding,
                                       .dilation = options_.dilation,
                                       .groups = options_.groups},
                                      site);
  return with_bias(out, bias_, site);
}

}  // namespace regrow::nn
