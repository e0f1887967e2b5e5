// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef sigmoid_gradient() {
  OpDef def = elementwise::binary<kernels::Binary::sigmoid_gradient, elementwise::Types::floating>(
      "grad out (1 - out): the gradient of sigmoid, whose value out is.");
  def.inputs = {"grad", "out"};
  def.gradient = [](Gradient& g) {
    if (g.wants(0)) elementwise::give(g, 0, op<"sigmoid_gradient">(g.grad(), g.in(1)));
    if (g.wants(1)) elementwise::give(g, 1, g.grad() * g.in(0) * (g.in(1) * Scalar(-2) + 1));
  };
  def.saves_inputs = 0b11;
  return def;
}

}  // namespace regrow::ops
