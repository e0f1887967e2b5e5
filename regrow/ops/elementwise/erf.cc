// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef erf() {
  OpDef def = elementwise::unary<kernels::Unary::erf, elementwise::Types::floating>("The error function of x.");
  def.gradient = [](Gradient& g) {
    const double two_over_root_pi = 1.1283791670955126;
    elementwise::give(g, 0, g.grad() * op<"exp">(-op<"square">(g.in(0))) * two_over_root_pi);
  };
  def.saves_inputs = 0b1;
  return def;
}

}  // namespace regrow::ops
