// SPDX-License-Identifier: Apache-2.0
#include "regrow/frontend/derived.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "regrow/engine/default_channel.h"
#include "regrow/frontend/call.h"
#include "regrow/frontend/create.h"
#include "regrow/runtime/channel.h"

namespace regrow {
namespace {

Dims whole_start(const Shape& shape) { return Dims::filled(shape.size(), 0); }
Dims whole_step(const Shape& shape) { return Dims::filled(shape.size(), 1); }

Tensor cut(const Tensor& x, const Dims& start, const Dims& stop, const Dims& step, Site site) {
  return detail::call_one(op("slice", {{"start", start}, {"stop", stop}, {"step", step}}, site), {&x}, site);
}

// Elements in each group that a reduction over these axes combines.
double group_size(const Shape& shape, const Axes& axes) {
  double count = 1;
  for (std::int64_t axis : axes.resolve(shape.rank())) count *= static_cast<double>(shape[static_cast<std::size_t>(axis)]);
  return count;
}

}  // namespace

Tensor squeeze(const Tensor& x, const Axes& axis, Site site) {
  Shape shape = x.shape(site);
  const Dims axes = axis.resolve(shape.rank());
  for (std::size_t i = axes.size(); i-- > 0;) {
    const auto at = static_cast<std::size_t>(axes[i]);
    if (shape[at] != 1) {
      if (axis.all()) continue;
      fail_at(site, "squeeze: axis {} of {} is not of length 1", axes[i], to_string(x.shape(site)));
    }
    shape.erase(at);
  }
  return reshape(x, shape, site);
}

Tensor expand_dims(const Tensor& x, std::int64_t axis, Site site) {
  Shape shape = x.shape(site);
  shape.insert(static_cast<std::size_t>(resolve_axis(axis, shape.rank() + 1)), 1);
  return reshape(x, shape, site);
}

Tensor transpose(const Tensor& x, std::int64_t a, std::int64_t b, Site site) {
  const int rank = x.rank(site);
  Dims axes = Dims::filled(static_cast<std::size_t>(rank), 0);
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[static_cast<std::size_t>(resolve_axis(a, rank))], axes[static_cast<std::size_t>(resolve_axis(b, rank))]);
  return permute_dims(x, axes, site);
}

Tensor flatten(const Tensor& x, std::int64_t first_axis, Site site) {
  const Shape shape = x.shape(site);
  if (shape.empty()) return reshape(x, Shape{1}, site);
  const auto first = static_cast<std::size_t>(resolve_axis(first_axis, shape.rank()));
  Shape flat(std::span(shape.begin(), first));
  flat.push_back(element_count(Shape(std::span(shape.begin() + first, shape.end()))));
  return reshape(x, flat, site);
}

Tensor flip(const Tensor& x, const FlipOptions& options, Site site) {
  const Shape shape = x.shape(site);
  Dims start = whole_start(shape), stop = shape, step = whole_step(shape);
  for (std::int64_t axis : options.axis.resolve(shape.rank())) {
    const auto i = static_cast<std::size_t>(axis);
    if (shape[i] > 0) start[i] = shape[i] - 1, stop[i] = -1, step[i] = -1;
  }
  return cut(x, start, stop, step, site);
}

Tensor stack(const std::vector<Tensor>& xs, const StackOptions& options, Site site) {
  std::vector<Tensor> wider;
  for (const Tensor& x : xs) wider.push_back(expand_dims(x, options.axis, site));
  return concat(wider, {.axis = options.axis}, site);
}

std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, const SplitOptions& options, Site site) {
  const Shape shape = x.shape(site);
  const auto axis = static_cast<std::size_t>(resolve_axis(options.axis, shape.rank()));
  if (std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) != shape[axis])
    fail_at(site, "split: the parts do not add up to axis {} of {}", axis, to_string(shape));
  // One operation where its attribute can say it: its gradient joins those of the parts.
  const bool even = !sizes.empty() && sizes.back() > 0 && sizes.back() <= sizes[0] &&
                    std::all_of(sizes.begin(), sizes.end() - 1, [&](std::int64_t size) { return size == sizes[0]; });
  if (even || (!sizes.empty() && sizes.size() <= max_rank)) {
    const Dims said = even ? Dims{sizes[0]} : Dims(std::span(sizes));
    return detail::call_many(op("split", {{"sizes", said}, {"axis", static_cast<std::int64_t>(axis)}}, site), {&x}, site);
  }
  std::vector<Tensor> parts;
  Dims start = whole_start(shape), stop = shape;
  for (std::int64_t size : sizes) {
    stop[axis] = start[axis] + size;
    parts.push_back(cut(x, start, stop, whole_step(shape), site));
    start[axis] = stop[axis];
  }
  return parts;
}

std::vector<Tensor> split(const Tensor& x, std::int64_t parts, const SplitOptions& options, Site site) {
  const Shape shape = x.shape(site);
  const std::int64_t size = shape[static_cast<std::size_t>(resolve_axis(options.axis, shape.rank()))];
  if (parts < 1 || size % parts != 0) fail_at(site, "split: {} cannot be cut into {} equal parts", size, parts);
  if (size == 0) return split(x, std::vector<std::int64_t>(static_cast<std::size_t>(parts), 0), options, site);
  return detail::call_many(op("split", {{"sizes", Dims{size / parts}}, {"axis", options.axis}}, site), {&x}, site);
}

namespace detail {

Tensor broadcast_to_value(const Tensor& x, const Tensor& shape, Site site) {
  HostArray sizes;
  if (!default_channel().host_value(shape.handle(), sizes))
    return call_one(op("broadcast_to_value", {}, site), {&x, &shape}, site);
  return broadcast_to(x, shape_from(sizes, site), site);
}

}  // namespace detail

Tensor var(const Tensor& x, const VarOptions& options, Site site) {
  const Tensor distance = subtract(x, mean(x, {.axis = options.axis, .keepdims = true}, site), site);
  const Tensor spread = mean(square(distance, site), {.axis = options.axis, .keepdims = options.keepdims}, site);
  if (options.correction == 0) return spread;
  const double count = group_size(x.shape(site), options.axis);
  return multiply(spread, count / (count - options.correction), site);
}

Tensor std(const Tensor& x, const VarOptions& options, Site site) { return sqrt(var(x, options, site), site); }

Tensor log_sum_exp(const Tensor& x, const LogSumExpOptions& options, Site site) {
  const Tensor largest = max(x.detach(), {.axis = options.axis, .keepdims = true}, site);
  const Tensor shift = where(isfinite(largest, site), largest, 0, site);
  const Tensor total = sum(exp(subtract(x, shift, site), site), {.axis = options.axis, .keepdims = true}, site);
  // Only -inf add up to 0: no gradient flows there.
  const Tensor nothing = equal(total, 0, site);
  const Tensor logs = where(nothing, -std::numeric_limits<float>::infinity(), log(where(nothing, 1, total, site), site), site);
  const Tensor result = add(logs, shift, site);
  return options.keepdims ? result : squeeze(result, options.axis.all() ? Axes() : options.axis, site);
}

Tensor norm(const Tensor& x, const NormOptions& options, Site site) {
  const Tensor total = sum(square(x, site), {.axis = options.axis, .keepdims = options.keepdims}, site);
  const Tensor nothing = equal(total, 0, site);
  return where(nothing, 0, sqrt(where(nothing, 1, total, site), site), site);
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Site site) {
  const Tensor product = matmul(x, transpose(weight, -2, -1, site), site);
  return bias.defined() ? add(product, bias, site) : product;
}

Tensor mse_loss(const Tensor& prediction, const Tensor& target, Site site) {
  return mean(square(subtract(prediction, target, site), site), {}, site);
}

}  // namespace regrow
