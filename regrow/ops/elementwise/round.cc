// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef round() {
  OpDef def = elementwise::unary<kernels::Unary::round, elementwise::Types::numeric>(
      "The whole number nearest to x; of two, the even one.");
  def.gradient = elementwise::give_nothing;
  return def;
}

}  // namespace regrow::ops
