// SPDX-License-Identifier: Apache-2.0
// The part of a tensor that basic indexing names: what slice reads and set_slice writes. Any thread.
#pragma once

#include "regrow/ops/op.h"

namespace regrow {

// start, stop and step of every axis, resolved: an axis yields start, start + step, … before stop (with a negative step, after
// it; stop is then -1 to reach index 0). `squeeze` names axes that an integer indexed: of length 1, dropped from the result.
std::vector<AttrSpec> region_attributes();

struct Region {
  Shape shape;
  Strides strides;
  std::int64_t offset = 0;  // of its element at index 0 from that of the whole, in elements
};

// Throws Error if the attributes do not fit the tensor.
Region region_of(const Desc& whole, const Attrs& attrs);

}  // namespace regrow
