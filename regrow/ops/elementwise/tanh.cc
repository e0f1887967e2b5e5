// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef tanh() {
  OpDef def = elementwise::unary<kernels::Unary::tanh, elementwise::Types::floating>("The hyperbolic tangent of x.");
  def.gradient = [](Gradient& g) { elementwise::give(g, 0, op<"tanh_gradient">(g.grad(), g.out())); };
  def.saves_outputs = 0b1;
  return def;
}

}  // namespace regrow::ops
