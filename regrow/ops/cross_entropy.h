// SPDX-License-Identifier: Apache-2.0
// What cross_entropy and its gradient share: attributes, checks. Any thread.
#pragma once

#include "regrow/kernels/softmax.h"
#include "regrow/ops/op.h"

namespace regrow {

enum class LossReduction : std::uint8_t { none, sum, mean };

std::vector<AttrSpec> cross_entropy_attributes();
LossReduction loss_reduction(const Attrs& attrs);  // throws Error on another word
// `weight`, of the classes, may be null; it is read into `weights`, with room for one a class.
kernels::CrossEntropy cross_entropy_of(const View& logits, const View& targets, const View* weight, const Attrs& attrs,
                                       double* weights);
std::size_t class_weight_bytes(const Desc* weight);

// The weights of the targets that count, added up; without weights, how many there are. Throws Error "cross_entropy: target 12 is
// out of range for 10 classes" if a target is neither a class nor ignored.
double weigh_targets(std::string_view op, const kernels::CrossEntropy& c);

// Shapes (N, C), (N,) and, if there is one, (C,), or Error; returns the shape of the loss.
Shape check_cross_entropy(const Shape& logits, const Shape& targets, const Desc* weight, const Attrs& attrs);
// A floating type and an integer type, then a floating type if there is a weight, or Error; returns the first.
DType check_cross_entropy_dtypes(std::span<const DType> in);

}  // namespace regrow
