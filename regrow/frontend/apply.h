// SPDX-License-Identifier: Apache-2.0
// Any operator, by its record, on tensors: what generated functions do for those that have one. Any thread.
#pragma once

#include <vector>

#include "regrow/frontend/tensor.h"
#include "regrow/ops/op.h"

namespace regrow {

// apply(op("sum", {{"axis", Axes{0}}}), {x}).at(0); also for callback_op.
std::vector<Tensor> apply(const Op& op, const std::vector<Tensor>& inputs, Site site = Site::here());

}  // namespace regrow
