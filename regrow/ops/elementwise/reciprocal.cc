// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef reciprocal() {
  OpDef def = elementwise::unary<kernels::Unary::reciprocal, elementwise::Types::floating>("1 divided by x.");
  def.gradient = [](Gradient& g) { elementwise::give(g, 0, -(g.grad() * op<"square">(g.out()))); };
  def.saves_outputs = 0b1;
  def.samples = {{.inputs = {{2, 3}}, .low = 0.5, .high = 3}, {.inputs = {Shape{}}, .low = 0.5, .high = 3}};
  return def;
}

}  // namespace regrow::ops
