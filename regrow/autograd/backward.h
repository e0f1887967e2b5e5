// SPDX-License-Identifier: Apache-2.0
// Reverse mode over the tape, of any order. Any thread; passes of several threads take turns.
//
// Nodes run in the reverse order of their recording, without recursion. Unless the graph is retained, what a node saved is freed
// as soon as its rule has run, so that memory falls while the pass proceeds. A pass that throws leaves every leaf's gradient as
// it was.
#pragma once

#include <span>
#include <vector>

#include "regrow/autograd/value.h"

namespace regrow::autograd {

struct PassOptions {
  bool create_graph = false;  // record the pass itself, for derivatives of higher order
  bool retain_graph = false;  // keep what was saved, for another pass
  bool allow_unused = false;  // gradients(): an empty value, not an error, where an input does not take part
};

// Adds to the gradients of all leaves that `outputs` depend on. `seeds`: the gradient of each output; an empty one stands for 1
// where the output has one element.
void backward(std::span<const Value> outputs, std::span<const Value> seeds, const PassOptions& options, Site site);
// The gradients of these inputs, leaves or not; no leaf's gradient changes. Only what lies between is run and freed.
std::vector<Value> gradients(std::span<const Value> outputs, std::span<const Value> inputs, std::span<const Value> seeds,
                             const PassOptions& options, Site site);

}  // namespace regrow::autograd
