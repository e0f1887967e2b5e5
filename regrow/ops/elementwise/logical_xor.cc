// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef logical_xor() {
  return elementwise::comparison<kernels::Binary::logical_xor>("Whether just one of a and b is other than zero.");
}

}  // namespace regrow::ops
