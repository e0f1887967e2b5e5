// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef add() {
  OpDef def =
      elementwise::binary<kernels::Binary::add, elementwise::Types::any>("The sum of a and b; of booleans: or. Integers wrap.");
  def.gradient = [](Gradient& g) {
    elementwise::give(g, 0, g.grad());
    elementwise::give(g, 1, g.grad());
  };
  return def;
}

}  // namespace regrow::ops
