// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef negative() {
  OpDef def =
      elementwise::unary<kernels::Unary::negative, elementwise::Types::numeric>("x with its sign changed. Integers wrap.");
  def.gradient = [](Gradient& g) { elementwise::give(g, 0, -g.grad()); };
  return def;
}

}  // namespace regrow::ops
