// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/convert.h"

#include "regrow/kernels/copy.h"
#include "regrow/kernels/elementwise.h"

namespace regrow::kernels {

void convert(const View& from, const View& to) {
  if (from.dtype() == to.dtype()) return copy(from, to);
  run_tile(convert(from.dtype(), to.dtype()), {&from, 1}, to);
}

}  // namespace regrow::kernels
