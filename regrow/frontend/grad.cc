// SPDX-License-Identifier: Apache-2.0
#include "regrow/frontend/grad.h"

#include "regrow/autograd/backward.h"

namespace regrow {
namespace {

std::vector<autograd::Value> values_of(const std::vector<Tensor>& tensors) {
  std::vector<autograd::Value> values;
  for (const Tensor& tensor : tensors) values.push_back(tensor.traced());
  return values;
}

}  // namespace

void Tensor::backward(Site site) const { backward(BackwardOptions(), site); }

void Tensor::backward(const BackwardOptions& options, Site site) const {
  autograd::backward({&value_, 1}, {&options.grad.value_, 1},
                     {.create_graph = options.create_graph, .retain_graph = options.retain_graph.value_or(options.create_graph)},
                     site);
}

std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs, const GradOptions& options,
                         Site site) {
  std::vector<Tensor> result;
  const autograd::PassOptions pass{.create_graph = options.create_graph,
                                   .retain_graph = options.retain_graph.value_or(options.create_graph),
                                   .allow_unused = options.allow_unused};
  for (autograd::Value& value :
       autograd::gradients(values_of(outputs), values_of(inputs), values_of(options.grad_outputs), pass, site))
    result.emplace_back(std::move(value));
  return result;
}

std::vector<Tensor> grad(const Tensor& output, const std::vector<Tensor>& inputs, const GradOptions& options, Site site) {
  return grad(std::vector<Tensor>{output}, inputs, options, site);
}

}  // namespace regrow
