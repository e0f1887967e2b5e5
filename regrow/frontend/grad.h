// SPDX-License-Identifier: Apache-2.0
// Gradients of tensors, of any order. Any thread.
#pragma once

#include <optional>
#include <vector>

#include "regrow/autograd/grad_mode.h"
#include "regrow/frontend/tensor.h"

namespace regrow {

struct BackwardOptions {
  Tensor grad = {};                                 // of the output; default: 1, for an output of one element
  bool create_graph = false;                        // record the backward pass too, for derivatives of higher order
  std::optional<bool> retain_graph = std::nullopt;  // keep the graph for another pass; default: as create_graph
};

struct GradOptions {
  std::vector<Tensor> grad_outputs = {};  // of each output; default: 1, for outputs of one element
  bool create_graph = false;
  std::optional<bool> retain_graph = std::nullopt;
  bool allow_unused = false;  // an empty tensor, not an Error, for an input that does not take part
};

// d outputs / d inputs, one an input: leaves, or values on the way. No leaf's gradient cell changes.
std::vector<Tensor> grad(const Tensor& output, const std::vector<Tensor>& inputs, const GradOptions& options = {},
                         Site site = Site::here());
std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs, const GradOptions& options = {},
                         Site site = Site::here());

}  // namespace regrow
