// SPDX-License-Identifier: Apache-2.0
#include "regrow/nn/linear.h"

#include <cmath>

#include "regrow/frontend/derived.h"
#include "regrow/nn/initializer.h"

namespace regrow::nn {

Linear::Linear(std::int64_t in, std::int64_t out, const LinearOptions& options, Site site) {
  const double bound = in > 0 ? 1.0 / std::sqrt(static_cast<double>(in)) : 0.0;
  weight_ = add("weight", Parameter(uniform_within({out, in}, bound, site), site), site);
  if (options.bias) bias_ = add("bias", Parameter(uniform_within({out}, bound, site), site), site);
}

Tensor Linear::operator()(const Tensor& x, Site site) const {
  return linear(x, weight_.value(), bias_.defined() ? bias_.value() : Tensor(), site);
}

}  // namespace regrow::nn
