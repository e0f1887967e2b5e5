// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef logical_and() { return elementwise::comparison<kernels::Binary::logical_and>("Whether both a and b are other than zero."); }

}  // namespace regrow::ops
