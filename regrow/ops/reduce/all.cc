// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/reduce.h"

namespace regrow::ops {

OpDef all() {
  return truth("Whether all elements over the axes are not zero (NaN is not zero). Of none: true.",
               [](const ComputeCall& call) { compute_fold(kernels::Fold::all, call); });
}

}  // namespace regrow::ops
