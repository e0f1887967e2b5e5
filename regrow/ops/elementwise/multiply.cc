// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef multiply() {
  OpDef def = elementwise::binary<kernels::Binary::multiply, elementwise::Types::any>(
      "The product of a and b; of booleans: and. Integers wrap.");
  def.gradient = [](Gradient& g) {
    if (g.wants(0)) elementwise::give(g, 0, g.grad() * g.in(1));
    if (g.wants(1)) elementwise::give(g, 1, g.grad() * g.in(0));
  };
  def.saves_inputs = 0b11;
  return def;
}

}  // namespace regrow::ops
