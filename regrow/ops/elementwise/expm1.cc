// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef expm1() {
  OpDef def =
      elementwise::unary<kernels::Unary::expm1, elementwise::Types::floating>("e to the power of x, minus 1: accurate near 0.");
  def.gradient = [](Gradient& g) { elementwise::give(g, 0, g.grad() * (g.out() + 1)); };
  def.saves_outputs = 0b1;
  return def;
}

}  // namespace regrow::ops
