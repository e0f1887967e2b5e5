// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/reduce.h"

namespace regrow::ops {

OpDef min() {
  return extreme(
      "The smallest element over the axes; NaN if there is one. The gradient is shared equally by all elements that equal it.",
      [](const ComputeCall& call) { compute_fold(kernels::Fold::min, call); });
}

}  // namespace regrow::ops
