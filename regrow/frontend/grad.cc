// SPDX-License-Identifier: Apache-2.0
#include "regrow/frontend/grad.h"

#include "regrow/autograd/backward.h"
#include "regrow/autograd/custom.h"
#include "regrow/frontend/create.h"

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

ValueAndGrad value_and_grad(const std::function<Tensor(const std::vector<Tensor>&)>& f, const std::vector<Tensor>& arguments,
                            const GradOptions& options, Site site) {
  GradMode recorded(true);
  std::vector<Tensor> own;
  for (const Tensor& argument : arguments) {
    // A view of its own, so that what else depends on the argument takes no part.
    own.push_back(argument.needs_grad() ? argument.reshape(argument.shape(site), site) : argument.requires_grad(site));
  }
  ValueAndGrad result{.value = f(own), .grads = {}};
  result.grads = grad(result.value, own, options, site);
  if (!options.create_graph) result.value = result.value.detach();
  return result;
}

ValueAndGrad value_and_grad(const std::function<Tensor()>& f, const std::vector<Parameter>& parameters,
                            const GradOptions& options, Site site) {
  GradMode recorded(true);
  std::vector<Tensor> values;
  for (const Parameter& parameter : parameters) values.push_back(parameter.value());
  ValueAndGrad result{.value = f(), .grads = {}};
  result.grads = grad(result.value, values, options, site);
  if (!options.create_graph) result.value = result.value.detach();
  return result;
}

std::vector<Tensor> custom_gradient(const std::vector<Tensor>& inputs,
                                    const std::function<CustomResult(const std::vector<Tensor>& inputs)>& function, Site site) {
  CustomResult result = function(inputs);
  if (!result.gradient) fail_at(site, "custom_gradient: the function returned no gradient");
  std::vector<Desc> descs;
  for (const Tensor& output : result.outputs) descs.push_back(output.traced().known_desc(site)->desc);
  auto gradient = [descs = std::move(descs), own = std::move(result.gradient), site](std::span<const autograd::Value> grads) {
    std::vector<Tensor> given;
    for (std::size_t i = 0; i < grads.size(); ++i)
      given.push_back(grads[i] ? Tensor(grads[i])
                               : zeros(descs[i].shape, {.dtype = descs[i].dtype, .device = descs[i].device}, site));
    return values_of(own(given));
  };
  std::vector<Tensor> outputs;
  for (autograd::Value& value : autograd::with_gradient(values_of(inputs), values_of(result.outputs), std::move(gradient), site))
    outputs.emplace_back(std::move(value));
  return outputs;
}

}  // namespace regrow
