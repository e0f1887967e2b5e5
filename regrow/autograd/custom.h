// SPDX-License-Identifier: Apache-2.0
// Gradients that a user wrote: a node of the tape with a function in the place of an operator's rule. Any thread.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "regrow/autograd/value.h"

namespace regrow::autograd {

// From the gradients of the outputs (empty where nothing flowed back) those of the inputs, one each; an empty one: nothing flows.
using CustomGradient = std::function<std::vector<Value>(std::span<const Value> grads)>;

// The outputs, as values through which gradients flow to `inputs` by this function. While grad mode is off, or if no input needs
// a gradient, they are returned without it.
std::vector<Value> with_gradient(std::span<const Value> inputs, std::span<const Value> outputs, CustomGradient gradient,
                                 Site site);

}  // namespace regrow::autograd
