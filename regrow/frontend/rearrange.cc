// SPDX-License-Identifier: Apache-2.0
#include "regrow/frontend/rearrange.h"

#include <algorithm>
#include <numeric>

#include "regrow/frontend/call.h"
#include "regrow/frontend/create.h"
#include "regrow/ops.h"

namespace regrow {
namespace {

Dims whole_start(const Shape& shape) { return Dims::filled(shape.size(), 0); }
Dims whole_step(const Shape& shape) { return Dims::filled(shape.size(), 1); }

Tensor cut(const Tensor& x, const Dims& start, const Dims& stop, const Dims& step, Site site) {
  return detail::call_one(op("slice", {{"start", start}, {"stop", stop}, {"step", step}}, site), {&x}, site);
}

std::size_t axis_of(const Shape& shape, std::int64_t axis) { return static_cast<std::size_t>(resolve_axis(axis, shape.rank())); }

// Lengths before, of and after an axis.
Shape around(const Shape& shape, std::size_t axis) {
  return {element_count(Shape(std::span(shape.begin(), axis))), shape[axis],
          element_count(Shape(std::span(shape.begin() + axis + 1, shape.end())))};
}

// Each of the `count` slabs along an axis as a whole again and again, or the axis as a whole.
Tensor repeated(const Tensor& x, std::size_t axis, std::int64_t count, bool as_a_whole, Site site) {
  Shape shape = x.shape(site);
  const Shape parts = around(shape, axis);
  const Tensor narrow =
      as_a_whole ? reshape(x, {parts[0], 1, parts[1] * parts[2]}, site) : reshape(x, {parts[0] * parts[1], 1, parts[2]}, site);
  const Shape wide = {narrow.shape(site)[0], count, narrow.shape(site)[2]};
  shape[axis] *= count;
  return reshape(broadcast_to(narrow, wide, site), shape, site);
}

// The elements along each axis that `place` names for indices -before … size + after - 1.
template <class Place>
Tensor padded(const Tensor& x, const Sizes& before, const Sizes& after, std::string_view name, Site site, Place place) {
  const Shape shape = x.shape(site);
  if (before.size() != shape.size() || after.size() != shape.size())
    fail_at(site, "{}: before {} and after {} need one value for each axis of {}", name, to_string(before), to_string(after),
            to_string(shape));
  Tensor result = x;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (before[axis] < 0 || after[axis] < 0)
      fail_at(site, "{}: nothing can be taken away: before {}, after {}", name, to_string(before), to_string(after));
    if (before[axis] == 0 && after[axis] == 0) continue;
    if (shape[axis] == 0) fail_at(site, "{}: axis {} of {} has no elements to repeat", name, axis, to_string(shape));
    std::vector<std::int64_t> places;
    for (std::int64_t i = -before[axis]; i < shape[axis] + after[axis]; ++i) places.push_back(place(i, shape[axis]));
    result = take(result, tensor(places, {.device = x.device(site)}, site), {.axis = static_cast<std::int64_t>(axis)}, site);
  }
  return result;
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
  for (std::int64_t size : sizes)
    if (size < 0) fail_at(site, "split: a part cannot have {} elements", size);
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

Tensor roll(const Tensor& x, std::int64_t shift, const RollOptions& options, Site site) {
  const Shape shape = x.shape(site);
  if (!options.axis) return reshape(roll(reshape(x, {-1}, site), shift, {.axis = 0}, site), shape, site);
  const std::size_t axis = axis_of(shape, *options.axis);
  const std::int64_t size = shape[axis], moved = size == 0 ? 0 : (shift % size + size) % size;
  if (moved == 0) return x;
  const std::vector<Tensor> parts = split(x, {size - moved, moved}, {.axis = *options.axis}, site);
  return concat({parts[1], parts[0]}, {.axis = *options.axis}, site);
}

Tensor tile(const Tensor& x, const Sizes& repetitions, Site site) {
  Dims counts = repetitions;
  Shape shape = x.shape(site);
  while (counts.size() < shape.size()) counts.insert(0, 1);
  while (shape.size() < counts.size()) shape.insert(0, 1);
  Tensor result = shape == x.shape(site) ? x : reshape(x, shape, site);
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (counts[axis] < 0) fail_at(site, "tile: nothing can be repeated {} times", counts[axis]);
    if (counts[axis] != 1) result = repeated(result, axis, counts[axis], true, site);
  }
  return result;
}

Tensor repeat(const Tensor& x, std::int64_t count, const RepeatOptions& options, Site site) {
  if (count < 0) fail_at(site, "repeat: nothing can be repeated {} times", count);
  if (!options.axis) return repeat(flatten(x, 0, site), count, {.axis = 0}, site);
  return repeated(x, axis_of(x.shape(site), *options.axis), count, false, site);
}

Tensor reflect_pad(const Tensor& x, const Sizes& before, const Sizes& after, Site site) {
  return padded(x, before, after, "reflect_pad", site, [](std::int64_t i, std::int64_t size) {
    const std::int64_t period = std::max<std::int64_t>(2 * (size - 1), 1), at = (i % period + period) % period;
    return std::min(at, period - at) % size;
  });
}

Tensor replicate_pad(const Tensor& x, const Sizes& before, const Sizes& after, Site site) {
  return padded(x, before, after, "replicate_pad", site,
                [](std::int64_t i, std::int64_t size) { return std::clamp<std::int64_t>(i, 0, size - 1); });
}

}  // namespace regrow
