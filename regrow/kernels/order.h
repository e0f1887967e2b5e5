// SPDX-License-Identifier: Apache-2.0
// Sorting along one axis. Re-entrant. Any thread.
//
// The order is total: NaN, whatever its sign and payload, stands above every number, -0 equals 0, and of equal elements the
// earlier one comes first, ascending or descending.
#pragma once

#include <span>

#include "regrow/tensor/view.h"

namespace regrow::kernels {

struct Ordering {
  std::size_t axis = 0;
  bool descending = false;
};

// The first elements of each line of x in this order, as many as the outputs have along the axis: the elements themselves, and
// their places (i64). Either output may be null.
void sort(const View& x, const Ordering& ordering, const View* values, const View* places, std::span<std::byte> workspace);
std::size_t sort_workspace(const Desc& x, std::size_t axis);

}  // namespace regrow::kernels
