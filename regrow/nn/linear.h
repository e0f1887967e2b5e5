// SPDX-License-Identifier: Apache-2.0
// y = x W^T + b. One thread at a time.
#pragma once

#include "regrow/nn/module.h"

namespace regrow::nn {

struct LinearOptions {
  bool bias = true;
};

// Weight (out, in) and bias (out,), both drawn from U(-1 / sqrt(in), 1 / sqrt(in)), as PyTorch does.
class Linear : public Module {
 public:
  Linear(std::int64_t in, std::int64_t out, const LinearOptions& options = {}, Site site = Site::here());
  // x of shape (…, in); the result is (…, out).
  Tensor operator()(const Tensor& x, Site site = Site::here()) const;
  const Parameter& weight() const noexcept { return weight_; }
  const Parameter& bias() const noexcept { return bias_; }  // without a cell if there is none

 private:
  Parameter weight_, bias_;
};

}  // namespace regrow::nn
