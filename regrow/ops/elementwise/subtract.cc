// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef subtract() {
  OpDef def =
      elementwise::binary<kernels::Binary::subtract, elementwise::Types::numeric>("The difference of a and b. Integers wrap.");
  def.gradient = [](Gradient& g) {
    elementwise::give(g, 0, g.grad());
    if (g.wants(1)) elementwise::give(g, 1, -g.grad());
  };
  return def;
}

}  // namespace regrow::ops
