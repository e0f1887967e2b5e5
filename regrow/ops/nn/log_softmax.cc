// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/softmax.h"

namespace regrow::ops {
namespace {

// g - exp(y) sum g along the axis.
void gradient(Gradient& g) {
  const Var sum = softmaxes::sum_over_axis(g, g.grad());
  g.set(0, g.grad() - op<"exp">(g.out()) * sum);
}

}  // namespace

OpDef log_softmax() {
  return softmaxes::along_axis(
      "The logarithm of the softmax of x along an axis: x - max - log(sum exp(x - max)). A row of -inf alone is NaN; the axis of "
      "a scalar has one element.",
      [](const ComputeCall& call) { softmaxes::compute(kernels::SoftmaxKind::logarithms, call); }, gradient);
}

}  // namespace regrow::ops
