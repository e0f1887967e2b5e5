// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef ceil() {
  OpDef def = elementwise::unary<kernels::Unary::ceil, elementwise::Types::numeric>("The least whole number not below x.");
  def.gradient = elementwise::give_nothing;
  return def;
}

}  // namespace regrow::ops
