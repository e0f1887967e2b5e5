// SPDX-License-Identifier: Apache-2.0
// Sums of products named by letters. Any thread.
#pragma once

#include <string_view>
#include <vector>

#include "regrow/frontend/tensor.h"

namespace regrow {

// einsum("bij,bjk->bik", {a, b}): letters name the axes of each operand, those that the result lacks are summed over. Without
// "->" the result has the letters that occur once, in alphabetical order. A letter twice in one operand takes its diagonal; "..."
// stands for axes that broadcast. Axes of length 1 broadcast, as in NumPy. It is computed by matrix products of pairs, in the
// order that takes the fewest multiplications. Differentiable to any order. Throws Error "einsum: …" where equation and shapes do
// not fit.
Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands, Site site = Site::here());

}  // namespace regrow
