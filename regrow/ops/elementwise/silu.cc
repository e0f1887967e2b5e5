// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {
namespace {

void gradient(Gradient& g) {
  const Var x = g.in(0);
  if (!g.recorded()) return elementwise::give(g, 0, op<"silu_gradient">(g.grad(), x));
  const Var s = op<"sigmoid">(x);
  elementwise::give(g, 0, g.grad() * s * (x * (s * Scalar(-1) + Scalar(1)) + Scalar(1)));
}

}  // namespace

OpDef silu() {
  OpDef def = elementwise::unary<kernels::Unary::silu, elementwise::Types::floating>("x / (1 + e^-x), also called swish.");
  def.gradient = gradient;
  def.saves_inputs = 0b1;
  return def;
}

}  // namespace regrow::ops
