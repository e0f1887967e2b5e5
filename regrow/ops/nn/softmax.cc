// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/softmax.h"

namespace regrow::ops {
namespace {

// y (g - sum (g y)) along the axis.
void gradient(Gradient& g) {
  const Var y = g.out(), weighted = g.grad() * y;
  g.set(0, weighted - y * softmaxes::sum_over_axis(g, weighted));
}

}  // namespace

OpDef softmax() {
  return softmaxes::along_axis(
      "The softmax of x along an axis: exp(x - max) / sum exp(x - max). A row of -inf alone is NaN; the axis of a scalar has one "
      "element.",
      [](const ComputeCall& call) { softmaxes::compute(kernels::SoftmaxKind::probabilities, call); }, gradient);
}

}  // namespace regrow::ops
