// SPDX-License-Identifier: Apache-2.0
// What cross_entropy and its gradient share: attributes, checks. Any thread.
#pragma once

#include "regrow/kernels/softmax.h"
#include "regrow/ops/op.h"

namespace regrow {

enum class LossReduction : std::uint8_t { none, sum, mean };

std::vector<AttrSpec> cross_entropy_attributes();
LossReduction loss_reduction(const Attrs& attrs);  // throws Error on another word
kernels::CrossEntropy cross_entropy_of(const View& logits, const View& targets, const Attrs& attrs);

// The number of rows that count. Throws Error "cross_entropy: target 12 is out of range for 10 classes" if a target is neither a
// class nor ignored.
std::int64_t count_targets(std::string_view op, const kernels::CrossEntropy& c);

// Shapes (N, C) and (N,), or Error; returns the shape of the loss.
Shape check_cross_entropy(const Shape& logits, const Shape& targets, const Attrs& attrs);
// A floating type and an integer type, or Error; returns the former.
DType check_cross_entropy_dtypes(DType logits, DType targets);

}  // namespace regrow
