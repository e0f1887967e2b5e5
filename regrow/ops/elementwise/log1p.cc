// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef log1p() {
  OpDef def =
      elementwise::unary<kernels::Unary::log1p, elementwise::Types::floating>("The natural logarithm of 1 + x: accurate near 0.");
  def.gradient = [](Gradient& g) { elementwise::give(g, 0, g.grad() / (g.in(0) + 1)); };
  def.saves_inputs = 0b1;
  def.samples = {{.inputs = {{2, 3}}, .low = -0.5, .high = 4}, {.inputs = {Shape{}}, .low = -0.5, .high = 4}};
  return def;
}

}  // namespace regrow::ops
