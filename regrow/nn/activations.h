// SPDX-License-Identifier: Apache-2.0
// Modules without parameters that apply one function. One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "regrow/frontend/derived.h"
#include "regrow/nn/module.h"

namespace regrow::nn {

struct ReLU : Module {
  Tensor operator()(const Tensor& x, Site site = Site::here()) const { return relu(x, site); }
};

struct Tanh : Module {
  Tensor operator()(const Tensor& x, Site site = Site::here()) const { return tanh(x, site); }
};

struct Sigmoid : Module {
  Tensor operator()(const Tensor& x, Site site = Site::here()) const { return sigmoid(x, site); }
};

struct SiLU : Module {
  Tensor operator()(const Tensor& x, Site site = Site::here()) const { return silu(x, site); }
};

// approximate: "none" (by the error function) or "tanh".
class GELU : public Module {
 public:
  explicit GELU(std::string approximate = "none", Site site = Site::here()) : approximate_(std::move(approximate)) {
    if (approximate_ != "none" && approximate_ != "tanh")
      fail_at(site, "GELU: approximate is none or tanh, not '{}'", approximate_);
  }
  Tensor operator()(const Tensor& x, Site site = Site::here()) const { return gelu(x, {.approximate = approximate_}, site); }

 private:
  std::string approximate_;
};

class Softmax : public Module {
 public:
  explicit Softmax(std::int64_t axis = -1) : axis_(axis) {}
  Tensor operator()(const Tensor& x, Site site = Site::here()) const { return softmax(x, {.axis = axis_}, site); }

 private:
  std::int64_t axis_;
};

// All axes but the first become one.
struct Flatten : Module {
  Tensor operator()(const Tensor& x, Site site = Site::here()) const { return flatten(x, 1, site); }
};

// In training each element is 0 with probability p and 1 / (1 - p) of itself otherwise; in evaluation, the identity.
class Dropout : public Module {
 public:
  explicit Dropout(double p = 0.5, Site site = Site::here()) : p_(p) {
    if (!(p >= 0 && p < 1)) fail_at(site, "dropout: the probability {} is not in [0, 1)", p);
  }
  Tensor operator()(const Tensor& x, Site site = Site::here()) const {
    return training() && p_ > 0 ? dropout(x, {.p = p_}, site) : x;
  }

 private:
  double p_;
};

}  // namespace regrow::nn
