// SPDX-License-Identifier: Apache-2.0
// What the optimizer steps share: checks of a parameter and what belongs to it. Any thread.
#pragma once

#include "regrow/ops/op.h"

namespace regrow {

// All of one shape and floating; the results are contiguous.
void describe_update(const InferCall& call, std::span<const int> replaced);
void check_floating(std::span<const DType> in, std::size_t count);
// Throws Error "learning_rate must lie in [0, inf), not -1" and the like.
void require_in(const Attrs& attrs, std::string_view name, double low, double high);

}  // namespace regrow
