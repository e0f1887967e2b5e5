// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef remainder() {
  OpDef def = elementwise::binary<kernels::Binary::remainder, elementwise::Types::numeric>(
      "What floor_divide leaves of a: it has the sign of b, as Python's %. Of an integer by zero: 0.");
  def.gradient = [](Gradient& g) {
    elementwise::give(g, 0, g.grad());
    if (g.wants(1)) elementwise::give(g, 1, -(g.grad() * op<"floor_divide">(g.in(0), g.in(1))));
  };
  def.saves_inputs = 0b11;
  def.samples = {{.inputs = {{2, 3}, {2, 3}}, .low = 0.5, .high = 9},
                 {.inputs = {{2, 3}, {3}}, .low = 0.5, .high = 9},
                 {.inputs = {{2, 3}, Shape{}}, .low = 0.5, .high = 9}};
  return def;
}

}  // namespace regrow::ops
