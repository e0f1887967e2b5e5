// SPDX-License-Identifier: Apache-2.0
#include "regrow/nn/module.h"

#include <algorithm>

#include "regrow/base/error.h"

namespace regrow::nn {

struct Module::State {
  std::vector<std::pair<std::string, Parameter>> parameters;
  std::vector<std::pair<std::string, Module>> children;
  bool training = true;
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

void Module::collect(const std::string& prefix, std::vector<std::pair<std::string, Parameter>>& found) const {
  for (const auto& [name, parameter] : state_->parameters) {
    const Parameter& wanted = parameter;
    if (std::none_of(found.begin(), found.end(), [&](const auto& other) { return other.second == wanted; }))
      found.emplace_back(prefix + name, parameter);
  }
  for (const auto& [name, child] : state_->children) child.collect(prefix + name + ".", found);
}

std::vector<std::pair<std::string, Parameter>> Module::named_parameters() const {
  std::vector<std::pair<std::string, Parameter>> found;
  collect("", found);
  return found;
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
