// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/reduce.h"

namespace regrow::ops {

OpDef argmin() {
  return place(
      "The index of the first smallest element over the axes, or of the first NaN, as i64. Over several axes it counts "
      "row-major.",
      [](const ComputeCall& call) { compute_place(kernels::Fold::min, call); });
}

}  // namespace regrow::ops
