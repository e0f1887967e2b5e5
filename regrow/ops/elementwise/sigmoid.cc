// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef sigmoid() {
  OpDef def = elementwise::unary<kernels::Unary::sigmoid, elementwise::Types::floating>("1 / (1 + e^-x), without overflow.");
  def.gradient = [](Gradient& g) { elementwise::give(g, 0, op<"sigmoid_gradient">(g.grad(), g.out())); };
  def.saves_outputs = 0b1;
  return def;
}

}  // namespace regrow::ops
