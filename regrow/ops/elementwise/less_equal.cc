// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef less_equal() { return elementwise::comparison<kernels::Binary::less_equal>("Whether a is at most b."); }

}  // namespace regrow::ops
