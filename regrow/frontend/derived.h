// SPDX-License-Identifier: Apache-2.0
// Operators that are functions of others: views, statistics, losses. Any thread. Differentiable to any order, as their parts are.
#pragma once

#include <concepts>
#include <vector>

#include "regrow/ops.h"

namespace regrow {

// Views, named as in the array API.
Tensor squeeze(const Tensor& x, const Axes& axis, Site site = Site::here());  // drops axes of length 1
Tensor expand_dims(const Tensor& x, std::int64_t axis,
                   Site site = Site::here());  // a new axis of length 1, at `axis` of the result
Tensor transpose(const Tensor& x, std::int64_t a = -2, std::int64_t b = -1, Site site = Site::here());  // swaps two axes
Tensor flatten(const Tensor& x, std::int64_t first_axis = 0, Site site = Site::here());  // the axes from this one on become one
struct FlipOptions {
  Axes axis = Axes();
};
Tensor flip(const Tensor& x, const FlipOptions& options = {}, Site site = Site::here());  // reverses axes
struct StackOptions {
  std::int64_t axis = 0;
};
Tensor stack(const std::vector<Tensor>& xs, const StackOptions& options = {},
             Site site = Site::here());  // joins along a new axis
struct SplitOptions {
  std::int64_t axis = 0;
};
// Equal parts; or parts of these sizes, which add up to that of the axis.
std::vector<Tensor> split(const Tensor& x, std::int64_t parts, const SplitOptions& options = {}, Site site = Site::here());
std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, const SplitOptions& options = {},
                          Site site = Site::here());

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
