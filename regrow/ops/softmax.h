// SPDX-License-Identifier: Apache-2.0
// What softmax and log_softmax share. Any thread.
#pragma once

#include "regrow/kernels/softmax.h"
#include "regrow/ops/op.h"
#include "regrow/ops/var.h"

namespace regrow::softmaxes {

// All but the gradient, which may read the output.
OpDef along_axis(std::string_view doc, void (*compute)(const ComputeCall& call), void (*gradient)(Gradient& g));
void compute(kernels::SoftmaxKind kind, const ComputeCall& call);
// The sum over the axis, which stays with length 1.
Var sum_over_axis(Gradient& g, Var x);

}  // namespace regrow::softmaxes
