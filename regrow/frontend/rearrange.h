// SPDX-License-Identifier: Apache-2.0
// Functions that put the elements of tensors in other places: views where they can be. Any thread. Differentiable to any order.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "regrow/frontend/sizes.h"
#include "regrow/frontend/tensor.h"

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
// Views: equal parts; or parts of these sizes, which add up to that of the axis.
std::vector<Tensor> split(const Tensor& x, std::int64_t parts, const SplitOptions& options = {}, Site site = Site::here());
std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, const SplitOptions& options = {},
                          Site site = Site::here());

// x moved on by `shift` places, what leaves at the end coming in at the start: along an axis, or all elements as one row.
struct RollOptions {
  std::optional<std::int64_t> axis = std::nullopt;
};
Tensor roll(const Tensor& x, std::int64_t shift, const RollOptions& options = {}, Site site = Site::here());
// x as a tile, laid repetitions[i] times along axis i; the shorter of shape and repetitions gets ones in front.
Tensor tile(const Tensor& x, const Sizes& repetitions, Site site = Site::here());
// Each element `count` times in a row, along an axis or of all elements as one row.
struct RepeatOptions {
  std::optional<std::int64_t> axis = std::nullopt;
};
Tensor repeat(const Tensor& x, std::int64_t count, const RepeatOptions& options = {}, Site site = Site::here());

// x with elements of its own around it, so many before and after for each axis: mirrored at the edges, which are not repeated; or
// the edges repeated. The axis order of the memory stays.
Tensor reflect_pad(const Tensor& x, const Sizes& before, const Sizes& after, Site site = Site::here());
Tensor replicate_pad(const Tensor& x, const Sizes& before, const Sizes& after, Site site = Site::here());

}  // namespace regrow
