// SPDX-License-Identifier: Apache-2.0
#include "regrow/nn/module.h"

#include <algorithm>
#include <unordered_map>
#include <variant>

#include "regrow/base/error.h"

namespace regrow::nn {

struct Module::State {
  std::vector<std::pair<std::string, Parameter>> parameters;
  std::vector<std::pair<std::string, Buffer>> buffers;
  std::vector<std::pair<std::string, Module>> children;
  bool training = true;
};

// Module by module: its parameters, its buffers, then what is below.
struct Module::Found {
  std::vector<std::pair<std::string, std::variant<Parameter, Buffer>>> cells;

  template <class Cell>
  void add(const std::string& prefix, const std::vector<std::pair<std::string, Cell>>& parts) {
    for (const auto& [name, cell] : parts) {
      const Cell& wanted = cell;
      const bool known = std::any_of(cells.begin(), cells.end(), [&](const auto& other) {
        const Cell* same = std::get_if<Cell>(&other.second);
        return same && *same == wanted;
      });
      if (!known) cells.emplace_back(prefix + name, cell);
    }
  }
  template <class Cell>
  std::vector<std::pair<std::string, Cell>> of() const {
    std::vector<std::pair<std::string, Cell>> list;
    for (const auto& [name, cell] : cells)
      if (const Cell* one = std::get_if<Cell>(&cell)) list.emplace_back(name, *one);
    return list;
  }
};

Module::Module() : state_(std::make_shared<State>()) {}

Module::Module(const Module& other) : state_(other.state_) {
  detail::Cloning* cloning = detail::Cloning::active();
  if (!cloning) return;
  std::shared_ptr<void> copy = cloning->copy_of(other.state_.get());
  if (!copy) {
    copy = copied(*other.state_);
    cloning->set_copy(other.state_.get(), copy);
  }
  state_ = std::static_pointer_cast<State>(copy);
}

// Copying the lists copies what is in them; a module never contains itself, so this ends.
std::shared_ptr<Module::State> Module::copied(const State& state) { return std::make_shared<State>(state); }

void Module::require_new(const std::string& name, Site site) const {
  if (name.empty() || name.find('.') != std::string::npos) fail_at(site, "a module cannot name a part '{}'", name);
  auto taken = [&](const auto& part) { return part.first == name; };
  if (std::any_of(state_->parameters.begin(), state_->parameters.end(), taken) ||
      std::any_of(state_->buffers.begin(), state_->buffers.end(), taken) ||
      std::any_of(state_->children.begin(), state_->children.end(), taken))
    fail_at(site, "the module has a part named '{}' already", name);
}

bool Module::reaches(const State* state) const {
  return state_.get() == state || std::any_of(state_->children.begin(), state_->children.end(),
                                              [&](const auto& child) { return child.second.reaches(state); });
}

void Module::add(std::string name, const Module& child, Site site) {
  require_new(name, site);
  if (child.reaches(state_.get())) fail_at(site, "the module '{}' would contain itself", name);
  state_->children.emplace_back(std::move(name), child);
}

Parameter Module::add(std::string name, const Parameter& parameter, Site site) {
  require_new(name, site);
  if (!parameter.defined()) fail_at(site, "the parameter '{}' is empty", name);
  state_->parameters.emplace_back(std::move(name), parameter);
  return parameter;
}

Buffer Module::add(std::string name, const Buffer& buffer, Site site) {
  require_new(name, site);
  if (!buffer.defined()) fail_at(site, "the buffer '{}' is empty", name);
  state_->buffers.emplace_back(std::move(name), buffer);
  return buffer;
}

void Module::collect(const std::string& prefix, Found& found) const {
  found.add(prefix, state_->parameters);
  found.add(prefix, state_->buffers);
  for (const auto& [name, child] : state_->children) child.collect(prefix + name + ".", found);
}

Module::Found Module::everything() const {
  Found found;
  collect("", found);
  return found;
}

std::vector<std::pair<std::string, Parameter>> Module::named_parameters() const { return everything().of<Parameter>(); }
std::vector<std::pair<std::string, Buffer>> Module::named_buffers() const { return everything().of<Buffer>(); }

StateDict Module::state_dict() const {
  StateDict state;
  for (const auto& [name, cell] : everything().cells)
    state.emplace_back(name, std::visit([](const auto& one) { return one.value().detach(); }, cell));
  return state;
}

StateDifference Module::load_state_dict(const StateDict& state, const LoadOptions& options, Site site) const {
  const Found found = everything();
  StateDifference difference = compare(described(state_dict(), site), described(state, site));
  const bool refused = options.strict ? !difference.empty() : !difference.mismatched.empty();
  if (refused) require_same(difference, "load_state_dict", site);
  std::unordered_map<std::string_view, const Tensor*> by_name;
  for (const auto& [name, value] : state) by_name.emplace(name, &value);
  for (const auto& [name, cell] : found.cells) {
    const auto given = by_name.find(name);
    if (given == by_name.end()) continue;
    const Tensor value = given->second->detach();
    std::visit([&](const auto& one) { one.set_value(value, site); }, cell);
  }
  return difference;
}

std::vector<Parameter> Module::parameters() const {
  std::vector<Parameter> found;
  for (auto& [name, parameter] : named_parameters()) found.push_back(parameter);
  return found;
}

std::vector<std::pair<std::string, Module>> Module::children() const { return state_->children; }

void Module::train(bool training) const {
  state_->training = training;
  for (const auto& [name, child] : state_->children) child.train(training);
}

bool Module::training() const noexcept { return state_->training; }

void Module::zero_grad() const {
  for (const Parameter& parameter : parameters()) parameter.zero_grad();
}

}  // namespace regrow::nn
