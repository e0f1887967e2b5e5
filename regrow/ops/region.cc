// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/region.h"

namespace regrow {
namespace {

// How many of start, start + step, … lie before stop.
std::int64_t steps_between(std::int64_t start, std::int64_t stop, std::int64_t step) {
  if (step > 0) return stop > start ? (stop - start - 1) / step + 1 : 0;
  return start > stop ? (start - stop - 1) / -step + 1 : 0;
}

}  // namespace

std::vector<AttrSpec> region_attributes() {
  return {{.name = "start", .type = AttrType::dims, .doc = "First index of each axis."},
          {.name = "stop",
           .type = AttrType::dims,
           .doc = "Index before which each axis ends; -1 ends a negative step after index 0."},
          {.name = "step", .type = AttrType::dims, .doc = "Distance between the indices of each axis; may be negative."},
          {.name = "squeeze",
           .type = AttrType::dims,
           .fallback = Dims{},
           .doc = "Axes to drop; each must have been cut to length 1."}};
}

Region region_of(const Desc& whole, const Attrs& attrs) {
  const Dims &start = attrs.get<Dims>("start"), &stop = attrs.get<Dims>("stop"), &step = attrs.get<Dims>("step");
  const std::size_t rank = whole.shape.size();
  require(start.size() == rank && stop.size() == rank && step.size() == rank,
          "start, stop and step need one value for each axis");
  Region region{whole.shape, whole.strides, 0};
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t size = whole.shape[i];
    require(step[i] != 0, "the step of axis {} is 0", i);
    region.shape[i] = steps_between(start[i], stop[i], step[i]);
    if (region.shape[i] == 0) continue;
    const std::int64_t last = start[i] + (region.shape[i] - 1) * step[i];
    require(start[i] >= 0 && start[i] < size && last >= 0 && last < size, "index {} is out of range for axis {} of size {}",
            start[i] >= 0 && start[i] < size ? last : start[i], i, size);
    region.strides[i] *= step[i];
    region.offset += start[i] * whole.strides[i];
  }
  if (element_count(region.shape) == 0) region.offset = 0;  // nothing is read: stay inside the storage
  const Dims squeezed = Axes(attrs.get<Dims>("squeeze")).resolve(whole.shape.rank());
  for (std::size_t k = squeezed.size(); k-- > 0;) {
    const auto axis = static_cast<std::size_t>(squeezed[k]);
    require(region.shape[axis] == 1, "axis {} has length {} and cannot be dropped", axis, region.shape[axis]);
    region.shape.erase(axis);
    region.strides.erase(axis);
  }
  return region;
}

}  // namespace regrow
