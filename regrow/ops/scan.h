// SPDX-License-Identifier: Apache-2.0
// What running sums, products and extremes share. Any thread.
#pragma once

#include "regrow/kernels/scan.h"
#include "regrow/ops/shapes.h"
#include "regrow/ops/var.h"

namespace regrow::scanning {

// axis (default: the last) and reverse (default: false).
std::vector<AttrSpec> attributes();
// The shape of x, in the axis order of its memory.
void infer(const InferCall& call);
// Along the axis; where the types differ, of x converted to that of the output.
void compute(kernels::Fold fold, const ComputeCall& call);

// A running sum or product of numbers: documentation and kernel. The attribute dtype, and the types, are those of the sum.
OpDef accumulation(std::string_view doc, void (*compute)(const ComputeCall& call));
// A running maximum or minimum: documentation and kernel.
OpDef extreme(std::string_view doc, void (*compute)(const ComputeCall& call));

}  // namespace regrow::scanning
