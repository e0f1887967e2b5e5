// SPDX-License-Identifier: Apache-2.0
// Conversion between a 16-bit floating type and any type but f32: rare, so one element at a time. Any thread.
#pragma once

#include "regrow/kernels/tile.h"

namespace regrow::kernels {

// Null unless exactly such a pair.
TileFn find_half_conversion(DType from, DType to);

}  // namespace regrow::kernels
