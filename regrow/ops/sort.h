// SPDX-License-Identifier: Apache-2.0
// What operators share that put the elements along an axis in order. Any thread.
#pragma once

#include "regrow/kernels/order.h"
#include "regrow/ops/shapes.h"
#include "regrow/ops/var.h"

namespace regrow::sorting {

// axis (default: the last) and descending (default: false).
std::vector<AttrSpec> attributes();
kernels::Ordering ordering_of(const Desc& x, const Attrs& attrs);

// The shape of x, in the axis order of its memory.
void infer(const InferCall& call);
std::size_t workspace(const CostCall& call);
Cost cost(const CostCall& call);
std::vector<Sample> samples();

// The gradient of x where `grad` belongs to its elements at `places` along the axis, and nothing to the others.
Var put_back(Gradient& g, Var grad, Var places);

}  // namespace regrow::sorting
