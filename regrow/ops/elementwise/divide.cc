// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef divide() {
  OpDef def = elementwise::binary<kernels::Binary::divide, elementwise::Types::floating>(
      "The quotient of a and b: of integers, in f32. x/0 is infinite, 0/0 NaN.");
  def.gradient = [](Gradient& g) {
    const Var quotient = g.grad() / g.in(1);
    elementwise::give(g, 0, quotient);
    if (g.wants(1)) elementwise::give(g, 1, -(quotient * g.out()));
  };
  def.saves_inputs = 0b10;
  def.saves_outputs = 0b1;
  def.samples = elementwise::binary_samples(0.5, 3);
  return def;
}

}  // namespace regrow::ops
