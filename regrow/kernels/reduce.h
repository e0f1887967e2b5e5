// SPDX-License-Identifier: Apache-2.0
// Reductions of strided tensors over any axes. The bits of a result depend on the elements in logical order alone (see fold.h),
// not on strides or threads; a NaN result is the positive quiet NaN. Re-entrant. Any thread.
#pragma once

#include "regrow/kernels/fold.h"
#include "regrow/tensor/view.h"

namespace regrow::kernels {

// out = the fold of x over `axes` (sorted, distinct). `out` has the axes of x, those of `axes` dropped or of length 1, and a type
// that the fold gives: for sums and products any wider one, for max and min that of x, for any and all bool. A floating sum is
// divided by `divisor` before it is rounded to the type of `out`. A fold of nothing is the identity.
void reduce(Fold fold, const View& x, const Dims& axes, const View& out, double divisor = 1);

// out = the row-major index, among the axes that go, of the first largest (smallest) element, or of the first NaN. `out` is i64.
void arg_reduce(Fold max_or_min, const View& x, const Dims& axes, const View& out);

}  // namespace regrow::kernels
