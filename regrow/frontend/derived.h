// SPDX-License-Identifier: Apache-2.0
// Operators that are functions of others: statistics, limits, losses. Any thread. Differentiable to any order, as their parts are.
#pragma once

#include <concepts>
#include <vector>

#include "regrow/frontend/einsum.h"
#include "regrow/frontend/rearrange.h"
#include "regrow/ops.h"

namespace regrow {

// Shapes given as tensors. Where the sizes are known on the host nothing waits, and the result's shape is known at once.
namespace detail {
Tensor broadcast_to_value(const Tensor& x, const Tensor& shape, Site site);
}
template <std::derived_from<Tensor> T>
Tensor broadcast_to(const Tensor& x, const T& shape, Site site = Site::here()) {
  return detail::broadcast_to_value(x, shape, site);
}
template <std::derived_from<Tensor> T>
Tensor reshape(const Tensor& x, const T& shape, Site site = Site::here()) {
  return x.reshape(shape, site);
}

inline Tensor astype(const Tensor& x, DType dtype, Site site = Site::here()) { return x.astype(dtype, site); }

// x where it lies between low and high, otherwise the nearer of them: min(max(x, low), high). Numbers or tensors.
Tensor clip(const Operand& x, const Operand& low, const Operand& high, Site site = Site::here());
Tensor outer(const Tensor& a, const Tensor& b, Site site = Site::here());  // a[i] b[j], of vectors
// The last two axes as matrices: 0 above (below) the diagonal, or the one `offset` to its right.
Tensor tril(const Tensor& x, std::int64_t offset = 0, Site site = Site::here());
Tensor triu(const Tensor& x, std::int64_t offset = 0, Site site = Site::here());

struct VarOptions {
  Axes axis = Axes();
  double correction = 0;  // what is taken off the number of elements: 1 is Bessel's
  bool keepdims = false;
};
Tensor var(const Tensor& x, const VarOptions& options = {}, Site site = Site::here());  // mean squared distance from the mean
Tensor std(const Tensor& x, const VarOptions& options = {}, Site site = Site::here());  // its square root
struct LogSumExpOptions {
  Axes axis = Axes();
  bool keepdims = false;
};
// log(sum(exp(x))) without overflow; of nothing but -inf it is -inf, with gradient 0.
Tensor log_sum_exp(const Tensor& x, const LogSumExpOptions& options = {}, Site site = Site::here());
struct NormOptions {
  Axes axis = Axes();
  bool keepdims = false;
};
Tensor norm(const Tensor& x, const NormOptions& options = {},
            Site site = Site::here());  // Euclidean; at the zero vector its gradient is 0

// x of shape (…, in) times the transpose of weight, (out, in), plus bias, (out,), if there is one.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, Site site = Site::here());
Tensor mse_loss(const Tensor& prediction, const Tensor& target, Site site = Site::here());  // the mean of squared differences

}  // namespace regrow
