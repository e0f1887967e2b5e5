// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef sign() {
  OpDef def = elementwise::unary<kernels::Unary::sign, elementwise::Types::numeric>(
      "-1, 0 or 1, as x is below, at or above zero; NaN of NaN.");
  def.gradient = elementwise::give_nothing;
  return def;
}

}  // namespace regrow::ops
