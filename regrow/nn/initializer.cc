// SPDX-License-Identifier: Apache-2.0
#include "regrow/nn/initializer.h"

#include <algorithm>
#include <cmath>

#include "regrow/base/error.h"
#include "regrow/ops.h"

namespace regrow::nn {

Fans fans_of(const Shape& weight) {
  require(weight.size() >= 2, "a weight has at least two axes, not shape {}", to_string(weight));
  std::int64_t kernel = 1;
  for (std::size_t i = 2; i < weight.size(); ++i) kernel *= weight[i];
  return {weight[1] * kernel, weight[0] * kernel};
}

Tensor uniform_within(const Shape& shape, double bound, Site site) {
  return uniform(shape, {.low = -bound, .high = bound}, site);
}

Tensor kaiming_uniform(const Shape& weight, double slope, Site site) {
  const auto in = static_cast<double>(std::max<std::int64_t>(fans_of(weight).in, 1));
  return uniform_within(weight, std::sqrt(6.0 / ((1.0 + slope * slope) * in)), site);
}

Tensor xavier_uniform(const Shape& weight, double gain, Site site) {
  const Fans fans = fans_of(weight);
  return uniform_within(weight, gain * std::sqrt(6.0 / static_cast<double>(std::max<std::int64_t>(fans.in + fans.out, 1))), site);
}

}  // namespace regrow::nn
