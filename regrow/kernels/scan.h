// SPDX-License-Identifier: Apache-2.0
// Running sums and their kin along one axis. The bits of a result depend on its line alone. Re-entrant. Any thread.
#pragma once

#include "regrow/kernels/fold.h"
#include "regrow/tensor/view.h"

namespace regrow::kernels {

// out[…, k, …] = the fold of x[…, 0 … k, …] along the axis; with `reverse`, of x[…, k … n - 1, …], from the end. `fold` is sum,
// prod, max or min; both have one type. Sums and products are accumulated as reductions do (f32 in f64, 16-bit floating types in
// f32) and rounded at each element; integers wrap; max and min propagate NaN. `out` may be `x`.
void scan(Fold fold, const View& x, std::size_t axis, bool reverse, const View& out);

}  // namespace regrow::kernels
