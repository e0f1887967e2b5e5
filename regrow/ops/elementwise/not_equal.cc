// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef not_equal() {
  return elementwise::comparison<kernels::Binary::not_equal>("Whether a and b differ; NaN differs from everything.");
}

}  // namespace regrow::ops
