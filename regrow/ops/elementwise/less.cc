// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef less() { return elementwise::comparison<kernels::Binary::less>("Whether a is below b."); }

}  // namespace regrow::ops
