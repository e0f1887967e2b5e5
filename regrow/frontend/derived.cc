// SPDX-License-Identifier: Apache-2.0
#include "regrow/frontend/derived.h"

#include <limits>

#include "regrow/engine/default_channel.h"
#include "regrow/frontend/call.h"
#include "regrow/frontend/create.h"
#include "regrow/runtime/channel.h"

namespace regrow {
namespace {

// Elements in each group that a reduction over these axes combines.
double group_size(const Shape& shape, const Axes& axes) {
  double count = 1;
  for (std::int64_t axis : axes.resolve(shape.rank())) count *= static_cast<double>(shape[static_cast<std::size_t>(axis)]);
  return count;
}

}  // namespace

namespace detail {

Tensor broadcast_to_value(const Tensor& x, const Tensor& shape, Site site) {
  HostArray sizes;
  if (!default_channel().host_value(shape.handle(), sizes))
    return call_one(op("broadcast_to_value", {}, site), {&x, &shape}, site);
  return broadcast_to(x, shape_from(sizes, site), site);
}

}  // namespace detail

Tensor clip(const Operand& x, const Operand& low, const Operand& high, Site site) {
  return minimum(maximum(x, low, site), high, site);
}

Tensor outer(const Tensor& a, const Tensor& b, Site site) {
  if (a.rank(site) != 1 || b.rank(site) != 1)
    fail_at(site, "outer: takes two vectors, not {} and {}", to_string(a.shape(site)), to_string(b.shape(site)));
  return multiply(reshape(a, {-1, 1}, site), b, site);
}

namespace {

// column - row of the last two axes.
Tensor diagonal_numbers(const Tensor& x, std::string_view name, Site site) {
  const Shape shape = x.shape(site);
  if (shape.size() < 2) fail_at(site, "{}: a matrix has two axes: {}", name, to_string(shape));
  const TensorOptions options{.device = x.device(site)};
  const Tensor rows = arange(std::int64_t{0}, shape[shape.size() - 2], std::int64_t{1}, options, site);
  return subtract(arange(std::int64_t{0}, shape.back(), std::int64_t{1}, options, site), reshape(rows, {-1, 1}, site), site);
}

}  // namespace

Tensor tril(const Tensor& x, std::int64_t offset, Site site) {
  return where(less_equal(diagonal_numbers(x, "tril", site), offset, site), x, 0, site);
}

Tensor triu(const Tensor& x, std::int64_t offset, Site site) {
  return where(greater_equal(diagonal_numbers(x, "triu", site), offset, site), x, 0, site);
}

namespace {

// 16-bit floating types in f32: squares of theirs overflow and lose what differs.
Tensor widened(const Tensor& x, Site site) {
  const DType dtype = x.dtype(site);
  return dtype == DType::f16 || dtype == DType::bf16 ? x.astype(DType::f32, site) : x;
}
Tensor narrowed(const Tensor& result, const Tensor& x, Site site) {
  return is_floating(x.dtype(site)) ? result.astype(x.dtype(site), site) : result;
}

// In two passes: of distances from the mean. Not rounded to a 16-bit type.
Tensor wide_var(const Tensor& given, const VarOptions& options, Site site) {
  const Tensor x = widened(given, site), distance = subtract(x, mean(x, {.axis = options.axis, .keepdims = true}, site), site);
  const Tensor spread = mean(square(distance, site), {.axis = options.axis, .keepdims = options.keepdims}, site);
  if (options.correction == 0) return spread;
  const double count = group_size(x.shape(site), options.axis);
  return multiply(spread, count / (count - options.correction), site);
}

}  // namespace

Tensor var(const Tensor& x, const VarOptions& options, Site site) { return narrowed(wide_var(x, options, site), x, site); }
Tensor std(const Tensor& x, const VarOptions& options, Site site) {
  return narrowed(sqrt(wide_var(x, options, site), site), x, site);
}

namespace {

// The first step of log_sum_exp, which finds out what is wrong with its axes: told under the name that the caller knows.
Tensor largest_for_log_sum_exp(const Tensor& x, const Axes& axis, Site site) {
  try {
    return max(x.detach(), {.axis = axis, .keepdims = true}, site);
  } catch (const AsyncError&) {  // of a value, on its way
    throw;
  } catch (const Error& error) {
    const std::string_view text = error.message();
    fail_at(site, "log_sum_exp{}", text.substr(text.starts_with("max:") ? 3 : 0));
  }
}

}  // namespace

Tensor log_sum_exp(const Tensor& x, const LogSumExpOptions& options, Site site) {
  const Tensor largest = largest_for_log_sum_exp(x, options.axis, site);
  const Tensor shift = where(isfinite(largest, site), largest, 0, site);
  const Tensor total = sum(exp(subtract(x, shift, site), site), {.axis = options.axis, .keepdims = true}, site);
  // Only -inf add up to 0: no gradient flows there.
  const Tensor nothing = equal(total, 0, site);
  const Tensor logs = where(nothing, -std::numeric_limits<float>::infinity(), log(where(nothing, 1, total, site), site), site);
  const Tensor result = add(logs, shift, site);
  return options.keepdims ? result : squeeze(result, options.axis.all() ? Axes() : options.axis, site);
}

Tensor norm(const Tensor& x, const NormOptions& options, Site site) {
  const Tensor total = sum(square(widened(x, site), site), {.axis = options.axis, .keepdims = options.keepdims}, site);
  const Tensor nothing = equal(total, 0, site);
  return narrowed(where(nothing, 0, sqrt(where(nothing, 1, total, site), site), site), x, site);
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Site site) {
  const Tensor product = matmul(x, transpose(weight, -2, -1, site), site);
  return bias.defined() ? add(product, bias, site) : product;
}

Tensor mse_loss(const Tensor& prediction, const Tensor& target, Site site) {
  return mean(square(subtract(prediction, target, site), site), {}, site);
}

}  // namespace regrow
