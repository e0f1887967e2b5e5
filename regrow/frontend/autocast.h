// SPDX-License-Identifier: Apache-2.0
// Mixed precision: within a scope, operators that multiply matrices (matmul, conv2d, conv_transpose2d, scaled_dot_product_attention,
// and what is made of them: linear) round their f32 inputs to bf16 or f16 first and give results of that type; they accumulate in
// f32. All others
// compute in the type that they are given: a bf16 product plus an f32 bias is f32. A property of each thread.
//
//   { Autocast scope(DType::bf16); loss = cross_entropy(net(x), y); }
//   loss.backward();
//
// Gradients of the rounded inputs are rounded too, and arrive in the type of the parameter.
#pragma once

#include <optional>

#include "regrow/base/site.h"
#include "regrow/tensor/dtype.h"

namespace regrow {

// The type of this thread's innermost scope; nothing outside of one.
std::optional<DType> autocast_dtype() noexcept;

class Autocast {
 public:
  explicit Autocast(DType dtype, Site site = Site::here());  // bf16 or f16; f32: as if there were no scope around. Throws Error on others
  ~Autocast();
  Autocast(const Autocast&) = delete;

 private:
  std::optional<DType> before_;
};

}  // namespace regrow
