// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {
namespace {

Var where(Var condition, Var yes, Var no) { return op<"where">(condition, yes, no); }
Var zero_like(Var x) { return x.recorder->constant(0, x.recorder->desc(x).dtype, x); }

// b a^(b-1), which is 0 where b is; a^b log a, which is 0 where a is.
void gradient(Gradient& g) {
  const Var a = g.in(0), b = g.in(1);
  if (g.wants(0)) {
    const Var slope = b * op<"power">(a, b + Scalar(-1));
    elementwise::give(g, 0, g.grad() * where(op<"equal">(b, zero_like(b)), zero_like(slope), slope));
  }
  if (g.wants(1)) {
    const Var slope = g.out() * op<"log">(a);
    elementwise::give(g, 1, g.grad() * where(op<"equal">(a, zero_like(a)), zero_like(slope), slope));
  }
}

}  // namespace

OpDef power() {
  OpDef def = elementwise::binary<kernels::Binary::power, elementwise::Types::numeric>(
      "a to the power of b. Integers wrap; a negative exponent of integers gives the truncated reciprocal, of 0 it gives "
      "0.");
  def.gradient = gradient;
  def.saves_inputs = 0b11;
  def.saves_outputs = 0b1;
  def.samples = elementwise::binary_samples(0.5, 2);
  return def;
}

}  // namespace regrow::ops
