// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef sqrt_gradient() {
  OpDef def = elementwise::binary<kernels::Binary::sqrt_gradient, elementwise::Types::floating>(
      "grad / (2 out), 0 where grad is: the gradient of sqrt, whose value out is.");
  def.inputs = {"grad", "out"};
  def.gradient = [](Gradient& g) {
    if (g.wants(0)) elementwise::give(g, 0, op<"sqrt_gradient">(g.grad(), g.in(1)));
    if (g.wants(1)) {  // -grad in / (2 out^2)
      const Var slope = op<"sqrt_gradient">(g.grad() * op<"sqrt_gradient">(g.in(0), g.in(1)), g.in(1));
      elementwise::give(g, 1, slope * Scalar(-2));
    }
  };
  def.saves_inputs = 0b11;
  def.samples = elementwise::binary_samples(0.5, 3);
  return def;
}

}  // namespace regrow::ops
