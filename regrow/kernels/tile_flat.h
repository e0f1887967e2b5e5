// SPDX-License-Identifier: Apache-2.0
// The common case of one kernel: operands lie as the output does, or are single elements. Re-entrant. Any thread.
#pragma once

#include <span>

#include "regrow/kernels/tile.h"

namespace regrow::kernels {

// False, with nothing done, where it is not that case.
bool run_flat(const TileKernel& kernel, std::span<const View> in, const View& out);

}  // namespace regrow::kernels
