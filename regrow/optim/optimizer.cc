// SPDX-License-Identifier: Apache-2.0
#include "regrow/optim/optimizer.h"

#include <absl/container/inlined_vector.h>
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "regrow/autograd/grad_mode.h"
#include "regrow/engine/default_channel.h"
#include "regrow/frontend/call.h"
#include "regrow/frontend/create.h"
#include "regrow/nn/state_dict.h"

namespace regrow::optim {
namespace {

// The means of a 16-bit parameter need more digits than it has.
DType slot_dtype(DType parameter) { return parameter == DType::f16 || parameter == DType::bf16 ? DType::f32 : parameter; }

}  // namespace

void Optimizer::add_slots(std::vector<Parameter> parameters, double learning_rate, std::vector<Slot> slots, Site site) {
  Group group{.begin = parameters_.size(), .end = parameters_.size() + parameters.size(), .slots = std::move(slots)};
  group.given_rate = group.learning_rate = learning_rate;
  std::vector<std::vector<Tensor>> state;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor value = parameters[i].value();
    const auto same = [&](const Parameter& other) { return other == parameters[i]; };
    const auto here = parameters.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::any_of(parameters_.begin(), parameters_.end(), same) || std::any_of(parameters.begin(), here, same))
      fail_at(site, "an optimizer cannot hold a parameter twice: number {}", group.begin + i);
    std::vector<Tensor>& own = state.emplace_back();
    for (const Slot& slot : group.slots)
      own.push_back(slot.counter
                        ? zeros({}, {.dtype = DType::i64, .device = value.device(site)}, site)
                        : zeros(value.shape(site), {.dtype = slot_dtype(value.dtype(site)), .device = value.device(site)}, site));
  }
  parameters_.insert(parameters_.end(), parameters.begin(), parameters.end());
  state_.insert(state_.end(), std::make_move_iterator(state.begin()), std::make_move_iterator(state.end()));
  groups_.push_back(std::move(group));
}

void Optimizer::set_learning_rate(double rate) {
  for (Group& group : groups_) group.learning_rate = rate;
}

void Optimizer::scale_learning_rate(double factor) {
  for (Group& group : groups_) group.learning_rate = group.given_rate * factor;
}

const Op& Optimizer::op_of(std::size_t index) {
  Group& group = groups_[index];
  if (!group.op || group.op_rate != group.learning_rate) {
    group.op.emplace(update(index, group.learning_rate));
    group.op_rate = group.learning_rate;
  }
  return *group.op;
}

void Optimizer::step(Site site) {
  NoGrad guard;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Op& op = op_of(g);
    for (std::size_t i = groups_[g].begin; i < groups_[g].end; ++i) step(op, i, site);
  }
  end_step();
}

void Optimizer::step(const Op& op, std::size_t i, Site site) {
  Tensor grad = parameters_[i].grad();
  if (!grad.defined()) return;
  const std::size_t slots = state_[i].size();
  absl::InlinedVector<Tensor, 5> in = {parameters_[i].value(), std::move(grad)};
  in.insert(in.end(), state_[i].begin(), state_[i].end());
  absl::InlinedVector<const Tensor*, 5> inputs;
  for (const Tensor& tensor : in) inputs.push_back(&tensor);
  absl::InlinedVector<Tensor, 4> out(1 + slots);
  detail::call_fixed(op, {inputs.data(), inputs.size()}, {out.data(), out.size()}, site);
  parameters_[i].set_value(out[0], site);
  for (std::size_t k = 0; k < slots; ++k) state_[i][k] = std::move(out[k + 1]);
}

void Optimizer::zero_grad() const {
  for (const Parameter& parameter : parameters_) parameter.zero_grad();
}

std::vector<std::pair<std::string, Tensor>> Optimizer::state() const {
  std::vector<std::pair<std::string, Tensor>> named;
  for (const Group& group : groups_)
    for (std::size_t i = group.begin; i < group.end; ++i)
      for (std::size_t k = 0; k < group.slots.size(); ++k)
        named.emplace_back(fmt::format("{}.{}", i, group.slots[k].name), state_[i][k]);
  for (std::size_t g = 0; g < groups_.size(); ++g)
    named.emplace_back(fmt::format("group.{}.learning_rate", g), tensor(groups_[g].learning_rate));
  return named;
}

void Optimizer::set_state(const std::vector<std::pair<std::string, Tensor>>& state, Site site) {
  const auto old = this->state();
  nn::require_same(nn::compare(nn::described(old, site), nn::described(state, site)), "the optimizer's state does not fit", site);
  std::unordered_map<std::string_view, const Tensor*> by_name;
  for (const auto& [name, value] : state) by_name.emplace(name, &value);
  // What can still fail comes first.
  std::vector<double> rates;
  for (std::size_t g = 0; g < groups_.size(); ++g)
    rates.push_back(by_name.at(old[old.size() - groups_.size() + g].first)->item<double>(site));
  std::size_t next = 0;
  for (std::vector<Tensor>& own : state_)
    for (Tensor& slot : own) slot = by_name.at(old[next++].first)->detach();
  for (std::size_t g = 0; g < groups_.size(); ++g) groups_[g].learning_rate = rates[g];
}

}  // namespace regrow::optim
