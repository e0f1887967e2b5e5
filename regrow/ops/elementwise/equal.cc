// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef equal() { return elementwise::comparison<kernels::Binary::equal>("Whether a and b are equal; NaN equals nothing."); }

}  // namespace regrow::ops
