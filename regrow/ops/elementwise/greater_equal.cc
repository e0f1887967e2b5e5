// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef greater_equal() { return elementwise::comparison<kernels::Binary::greater_equal>("Whether a is at least b."); }

}  // namespace regrow::ops
