// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef sqrt() {
  OpDef def = elementwise::unary<kernels::Unary::sqrt, elementwise::Types::floating>(
      "The square root of x; NaN below 0. No gradient flows on from where none came.");
  def.gradient = [](Gradient& g) { elementwise::give(g, 0, op<"sqrt_gradient">(g.grad(), g.out())); };
  def.saves_outputs = 0b1;
  def.samples = {{.inputs = {{2, 3}}, .low = 0.5, .high = 4}, {.inputs = {Shape{}}, .low = 0.5, .high = 4}};
  return def;
}

}  // namespace regrow::ops
