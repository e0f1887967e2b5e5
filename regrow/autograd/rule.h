// SPDX-License-Identifier: Apache-2.0
// Runs the gradient rule of one recorded operation. One thread: the one that runs backward.
#pragma once

#include <absl/container/inlined_vector.h>

#include "regrow/autograd/node.h"
#include "regrow/autograd/recorder.h"

namespace regrow::autograd {

using RuleResults = absl::InlinedVector<Value, 4>;

// Fills results[i] with the gradient of input i; empty: nothing flows there. `restricted`: only towards nodes marked as needed.
// Throws Error, naming the operation and its line, if the rule fails or gives a gradient of another shape than the input's.
void run_rule(Node& node, EagerRecorder& recorder, bool restricted, bool create_graph, RuleResults& results);

}  // namespace regrow::autograd
