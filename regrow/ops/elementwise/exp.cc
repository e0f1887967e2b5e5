// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef exp() {
  OpDef def = elementwise::unary<kernels::Unary::exp, elementwise::Types::floating>("e to the power of x.");
  def.gradient = [](Gradient& g) { elementwise::give(g, 0, g.grad() * g.out()); };
  def.saves_outputs = 0b1;
  return def;
}

}  // namespace regrow::ops
