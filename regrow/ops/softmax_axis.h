// SPDX-License-Identifier: Apache-2.0
// The axis of softmax and log_softmax. Any thread.
#pragma once

#include "regrow/ops/op.h"

namespace regrow {

inline std::vector<AttrSpec> softmax_attributes() {
  return {{.name = "axis",
           .fallback = std::int64_t{-1},
           .doc = "The axis whose elements compete; negative ones count from the end."}};
}

// In [0, rank); of a scalar 0, as if it had one element. Throws Error if there is no such axis.
inline int softmax_axis(const Attrs& attrs, int rank) {
  return resolve_axis(attrs.get<std::int64_t>("axis"), rank == 0 ? 1 : rank);
}

inline Axes softmax_axes(const Attrs& attrs, int rank) { return rank == 0 ? Axes::none() : Axes(softmax_axis(attrs, rank)); }

}  // namespace regrow
