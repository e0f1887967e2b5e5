// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef square() {
  OpDef def = elementwise::unary<kernels::Unary::square, elementwise::Types::numeric>("x times x. Integers wrap.");
  def.gradient = [](Gradient& g) { elementwise::give(g, 0, g.grad() * (g.in(0) + g.in(0))); };
  def.saves_inputs = 0b1;
  return def;
}

}  // namespace regrow::ops
