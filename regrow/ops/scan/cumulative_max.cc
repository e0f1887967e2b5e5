// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/scan.h"

namespace regrow::ops {

OpDef cumulative_max() {
  return scanning::extreme(
      "The largest element so far along an axis; NaN from the first NaN on. The gradient goes to the last element that equals "
      "it.",
      [](const ComputeCall& call) { scanning::compute(kernels::Fold::max, call); });
}

}  // namespace regrow::ops
