// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef relu_gradient() {
  OpDef def = elementwise::binary<kernels::Binary::relu_gradient, elementwise::Types::floating>(
      "grad where out, a value of relu, is above 0, otherwise 0.");
  def.inputs = {"grad", "out"};
  def.gradient = [](Gradient& g) {
    if (g.wants(0)) elementwise::give(g, 0, op<"relu_gradient">(g.grad(), g.in(1)));
  };
  def.saves_inputs = 0b10;
  return def;
}

}  // namespace regrow::ops
