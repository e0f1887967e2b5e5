// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef logical_or() { return elementwise::comparison<kernels::Binary::logical_or>("Whether a or b is other than zero."); }

}  // namespace regrow::ops
