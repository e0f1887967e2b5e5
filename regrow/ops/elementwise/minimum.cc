// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {
namespace {

// The gradient where `chosen` is the output, half of it where both are, and nothing elsewhere.
Var share(Gradient& g, Var chosen, Var other) {
  const Var zero = g.recorder().constant(0, g.recorder().desc(g.grad()).dtype, g.grad());
  const Var shared = op<"where">(op<"equal">(chosen, other), g.grad() * 0.5, zero);
  return op<"where">(op<"less">(chosen, other), g.grad(), shared);
}

void gradient(Gradient& g) {
  if (g.wants(0)) elementwise::give(g, 0, share(g, g.in(0), g.in(1)));
  if (g.wants(1)) elementwise::give(g, 1, share(g, g.in(1), g.in(0)));
}

}  // namespace

OpDef minimum() {
  OpDef def = elementwise::binary<kernels::Binary::minimum, elementwise::Types::any>(
      "The smaller of a and b; NaN if either is. Where both are equal, each gets half of the gradient.");
  def.gradient = gradient;
  def.saves_inputs = 0b11;
  return def;
}

}  // namespace regrow::ops
