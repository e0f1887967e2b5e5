// SPDX-License-Identifier: Apache-2.0
#include "regrow/nn/conv2d.h"

#include <cmath>

#include "regrow/frontend/apply.h"
#include "regrow/nn/initializer.h"
#include "regrow/ops.h"

namespace regrow::nn {

Conv2d::Conv2d(std::int64_t in, std::int64_t out, const Sizes& kernel, const Conv2dOptions& options, Site site)
    : options_(options) {
  if (options.groups < 1 || in % options.groups != 0 || out % options.groups != 0)
    fail_at(site, "Conv2d: {} groups divide neither {} inputs nor {} outputs", options.groups, in, out);
  if (kernel.size() != 1 && kernel.size() != 2)
    fail_at(site, "Conv2d: the kernel has one size or two, not {}", to_string(kernel));
  const Shape shape = {out, in / options.groups, kernel[0], kernel.back()};
  const std::int64_t fan_in = fans_of(shape).in;
  const double bound = fan_in > 0 ? 1.0 / std::sqrt(static_cast<double>(fan_in)) : 0.0;
  weight_ = add("weight", Parameter(uniform_within(shape, bound, site), site), site);
  if (options.bias) bias_ = add("bias", Parameter(uniform_within({out}, bound, site), site), site);
}

Tensor Conv2d::operator()(const Tensor& x, Site site) const {
  const Tensor out = conv2d(
      x, weight_.value(),
      {.stride = options_.stride, .padding = options_.padding, .dilation = options_.dilation, .groups = options_.groups}, site);
  return bias_.defined() ? regrow::add(out, bias_.value().reshape({-1, 1, 1}, site), site) : out;
}

Tensor MaxPool2d::operator()(const Tensor& x, Site site) const {
  const Dims stride = options_.stride.value_or(kernel_);
  const Op pool = op("max_pool2d", {{"kernel", Dims(kernel_)}, {"stride", stride}, {"padding", Dims(options_.padding)}}, site);
  return apply(pool, {x}, site).at(0);
}

}  // namespace regrow::nn
