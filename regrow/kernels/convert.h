// SPDX-License-Identifier: Apache-2.0
// Strided elements of one type as dense ones of another, for kernels that compute in a wider type than they store. Re-entrant.
// Any thread.
#pragma once

#include "regrow/tensor/view.h"

namespace regrow::kernels {

// to[i] = from[i] for every index. Equal shapes; any number types; `to` repeats no element; the two do not overlap.
void convert(const View& from, const View& to);

}  // namespace regrow::kernels
