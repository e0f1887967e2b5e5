// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef greater() { return elementwise::comparison<kernels::Binary::greater>("Whether a is above b."); }

}  // namespace regrow::ops
