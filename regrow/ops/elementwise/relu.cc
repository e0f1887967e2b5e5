// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef relu() {
  OpDef def =
      elementwise::unary<kernels::Unary::relu, elementwise::Types::numeric>("x where it is above 0, otherwise 0; NaN of NaN.");
  def.gradient = [](Gradient& g) { elementwise::give(g, 0, op<"relu_gradient">(g.grad(), g.out())); };
  def.saves_outputs = 0b1;
  return def;
}

}  // namespace regrow::ops
