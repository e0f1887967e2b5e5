// SPDX-License-Identifier: Apache-2.0
// What an equation of einsum says about operands of these ranks. Any thread.
#pragma once

#include <string_view>
#include <vector>

#include "regrow/base/site.h"

namespace regrow {

// Axes by name: a letter, or for those of an ellipsis a number, which counts from the last.
using Label = int;
using Labels = std::vector<Label>;

struct EinsumEquation {
  std::vector<Labels> inputs;
  Labels output;
};

// Throws Error "einsum: …".
EinsumEquation parse_einsum(std::string_view equation, const std::vector<int>& ranks, Site site);

}  // namespace regrow
