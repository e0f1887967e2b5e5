// SPDX-License-Identifier: Apache-2.0
// Gradients of tensors, of any order. Any thread.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "regrow/autograd/grad_mode.h"
#include "regrow/frontend/parameter.h"
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

struct ValueAndGrad {
  Tensor value;
  std::vector<Tensor> grads;  // one an argument, or a parameter
};
// f(arguments), of one element, and its gradients with respect to the arguments: what f reaches in another way counts as
// constant. No gradient cell changes. The arguments may depend on others: with .create_graph the gradients can be differentiated
// again.
ValueAndGrad value_and_grad(const std::function<Tensor(const std::vector<Tensor>&)>& f, const std::vector<Tensor>& arguments,
                            const GradOptions& options = {}, Site site = Site::here());
// f(), and its gradients with respect to these parameters.
ValueAndGrad value_and_grad(const std::function<Tensor()>& f, const std::vector<Parameter>& parameters,
                            const GradOptions& options = {}, Site site = Site::here());

// What a function with a gradient of its own returns: outputs, and how gradients of the outputs (zeros where nothing flowed back)
// become gradients of the inputs, one each; an empty tensor where nothing flows.
struct CustomResult {
  std::vector<Tensor> outputs;
  std::function<std::vector<Tensor>(const std::vector<Tensor>& grads)> gradient;
};
// Runs `function` on the inputs; backward goes by the gradient that it returned. What that captures is kept until backward:
// inputs, and values computed on the way, through which derivatives of higher order are followed (a detached one counts as
// constant). No gradient flows to tensors that the function reaches other than as an input.
//
//   Tensor clipped = custom_gradient({x}, [](const std::vector<Tensor>& in) -> CustomResult {
//     return {{in[0]}, [](const std::vector<Tensor>& g) { return std::vector{minimum(maximum(g[0], -1), 1)}; }};
//   }).at(0);
std::vector<Tensor> custom_gradient(const std::vector<Tensor>& inputs,
                                    const std::function<CustomResult(const std::vector<Tensor>& inputs)>& function,
                                    Site site = Site::here());

}  // namespace regrow
