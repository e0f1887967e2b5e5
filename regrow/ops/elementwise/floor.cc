// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef floor() {
  OpDef def = elementwise::unary<kernels::Unary::floor, elementwise::Types::numeric>("The largest whole number not above x.");
  def.gradient = elementwise::give_nothing;
  return def;
}

}  // namespace regrow::ops
