// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef logical_not() { return elementwise::classification<kernels::Unary::logical_not>("Whether x is zero."); }

}  // namespace regrow::ops
