// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef floor_divide() {
  OpDef def = elementwise::binary<kernels::Binary::floor_divide, elementwise::Types::numeric>(
      "The quotient of a and b rounded down, as Python's //. An integer divided by zero gives 0.");
  def.gradient = elementwise::give_nothing;
  def.samples = elementwise::binary_samples(0.5, 9);
  return def;
}

}  // namespace regrow::ops
