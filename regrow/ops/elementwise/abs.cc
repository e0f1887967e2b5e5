// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef abs() {
  OpDef def = elementwise::unary<kernels::Unary::abs, elementwise::Types::numeric>(
      "The magnitude of x. The least integer stays what it is.");
  def.gradient = [](Gradient& g) { elementwise::give(g, 0, g.grad() * op<"sign">(g.in(0))); };
  def.saves_inputs = 0b1;
  return def;
}

}  // namespace regrow::ops
