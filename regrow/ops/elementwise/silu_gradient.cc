// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {

OpDef silu_gradient() {
  OpDef def = elementwise::binary<kernels::Binary::silu_gradient, elementwise::Types::floating>(
      "grad times the slope of silu at x: the gradient of silu.");
  def.inputs = {"grad", "x"};
  return def;
}

}  // namespace regrow::ops
