// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef log() {
  OpDef def =
      elementwise::unary<kernels::Unary::log, elementwise::Types::floating>("The natural logarithm of x; -inf of 0, NaN below.");
  def.gradient = [](Gradient& g) { elementwise::give(g, 0, g.grad() / g.in(0)); };
  def.saves_inputs = 0b1;
  def.samples = {{.inputs = {{2, 3}}, .low = 0.5, .high = 4}, {.inputs = {Shape{}}, .low = 0.5, .high = 4}};
  return def;
}

}  // namespace regrow::ops
