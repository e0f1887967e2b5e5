// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef isinf() { return elementwise::classification<kernels::Unary::is_inf>("Whether x is infinite."); }

}  // namespace regrow::ops
