// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef trunc() {
  OpDef def = elementwise::unary<kernels::Unary::trunc, elementwise::Types::numeric>("The whole number next to x toward zero.");
  def.gradient = elementwise::give_nothing;
  return def;
}

}  // namespace regrow::ops
