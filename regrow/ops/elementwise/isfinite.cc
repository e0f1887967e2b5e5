// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef isfinite() { return elementwise::classification<kernels::Unary::is_finite>("Whether x is neither infinite nor NaN."); }

}  // namespace regrow::ops
