// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef tanh_gradient() {
  OpDef def = elementwise::binary<kernels::Binary::tanh_gradient, elementwise::Types::floating>(
      "grad (1 - out^2): the gradient of tanh, whose value out is.");
  def.inputs = {"grad", "out"};
  def.gradient = [](Gradient& g) {
    if (g.wants(0)) elementwise::give(g, 0, op<"tanh_gradient">(g.grad(), g.in(1)));
    if (g.wants(1)) elementwise::give(g, 1, g.grad() * g.in(0) * g.in(1) * Scalar(-2));
  };
  def.saves_inputs = 0b11;
  return def;
}

}  // namespace regrow::ops
