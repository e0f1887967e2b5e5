// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef isnan() { return elementwise::classification<kernels::Unary::is_nan>("Whether x is not a number."); }

}  // namespace regrow::ops
