// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef sin() {
  OpDef def = elementwise::unary<kernels::Unary::sin, elementwise::Types::floating>("The sine of x, in radians.");
  def.gradient = [](Gradient& g) { elementwise::give(g, 0, g.grad() * op<"cos">(g.in(0))); };
  def.saves_inputs = 0b1;
  return def;
}

}  // namespace regrow::ops
