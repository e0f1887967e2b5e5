// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/reduce.h"

namespace regrow::ops {

OpDef any() {
  return truth("Whether any element over the axes is not zero (NaN is not zero). Of none: false.",
               [](const ComputeCall& call) { compute_fold(kernels::Fold::any, call); });
}

}  // namespace regrow::ops
