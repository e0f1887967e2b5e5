// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/scan.h"

namespace regrow::ops {

OpDef cumulative_min() {
  return scanning::extreme(
      "The smallest element so far along an axis; NaN from the first NaN on. The gradient goes to the last element that equals "
      "it.",
      [](const ComputeCall& call) { scanning::compute(kernels::Fold::min, call); });
}

}  // namespace regrow::ops
