// SPDX-License-Identifier: Apache-2.0
#include "regrow/optim/optimizer.h"

#include <fmt/format.h>

#include "regrow/autograd/grad_mode.h"
#include "regrow/frontend/call.h"
#include "regrow/frontend/create.h"

namespace regrow::optim {
namespace {

// The means of a 16-bit parameter need more digits than it has.
DType slot_dtype(DType parameter) { return parameter == DType::f16 || parameter == DType::bf16 ? DType::f32 : parameter; }

}  // namespace

Optimizer::Optimizer(std::vector<Parameter> parameters, double learning_rate, std::vector<Slot> slots, Site site)
    : parameters_(std::move(parameters)), learning_rate_(learning_rate), slots_(std::move(slots)) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor value = parameters_[i].value();
    for (std::size_t k = 0; k < i; ++k)
      if (parameters_[k] == parameters_[i]) fail_at(site, "an optimizer cannot hold a parameter twice: {} and {}", k, i);
    std::vector<Tensor>& own = state_.emplace_back();
    for (const Slot& slot : slots_)
      own.push_back(slot.counter
                        ? zeros({}, {.dtype = DType::i64, .device = value.device(site)}, site)
                        : zeros(value.shape(site), {.dtype = slot_dtype(value.dtype(site)), .device = value.device(site)}, site));
  }
}

void Optimizer::step(Site site) {
  NoGrad guard;
  const Op op = update(learning_rate_);
  std::vector<Tensor> in, out;
  std::vector<const Tensor*> inputs;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Tensor grad = parameters_[i].grad();
    if (!grad.defined()) continue;
    in = {parameters_[i].value(), std::move(grad)};
    in.insert(in.end(), state_[i].begin(), state_[i].end());
    inputs.clear();
    for (const Tensor& tensor : in) inputs.push_back(&tensor);
    out.assign(1 + slots_.size(), Tensor());
    detail::call_fixed(op, inputs, out, site);
    parameters_[i].set_value(out[0], site);
    for (std::size_t k = 0; k < slots_.size(); ++k) state_[i][k] = std::move(out[k + 1]);
  }
}

void Optimizer::zero_grad() const {
  for (const Parameter& parameter : parameters_) parameter.zero_grad();
}

std::vector<std::pair<std::string, Tensor>> Optimizer::state() const {
  std::vector<std::pair<std::string, Tensor>> named;
  for (std::size_t i = 0; i < state_.size(); ++i)
    for (std::size_t k = 0; k < slots_.size(); ++k) named.emplace_back(fmt::format("{}.{}", i, slots_[k].name), state_[i][k]);
  return named;
}

void Optimizer::set_state(const std::vector<std::pair<std::string, Tensor>>& state, Site site) {
  const auto old = this->state();
  if (state.size() != old.size()) fail_at(site, "the optimizer's state has {} parts, not {}", old.size(), state.size());
  for (std::size_t i = 0; i < state.size(); ++i) {
    const auto& [name, value] = state[i];
    if (name != old[i].first) fail_at(site, "part {} of the optimizer's state is '{}', not '{}'", i, old[i].first, name);
    if (value.shape(site) != old[i].second.shape(site) || value.dtype(site) != old[i].second.dtype(site))
      fail_at(site, "'{}' of the optimizer's state has another shape or type", name);
  }
  for (std::size_t i = 0; i < state.size(); ++i) state_[i / slots_.size()][i % slots_.size()] = state[i].second.detach();
}

}  // namespace regrow::optim
