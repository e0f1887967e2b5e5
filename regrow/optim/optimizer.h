// SPDX-License-Identifier: Apache-2.0
// What optimizers share: they hold parameters, in groups with options of their own, read their gradients and bind them to new
// values. One thread at a time.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "regrow/frontend/parameter.h"
#include "regrow/ops/op.h"

namespace regrow::optim {

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Updates every parameter that has a gradient; the others, and their state, stay as they are. Waits for nothing.
  void step(Site site = Site::here());
  void zero_grad() const;  // empties all gradients

  std::size_t groups() const noexcept { return groups_.size(); }
  double learning_rate(std::size_t group = 0) const { return groups_.at(group).learning_rate; }
  void set_learning_rate(double rate);  // of every group
  void set_learning_rate(double rate, std::size_t group) { groups_.at(group).learning_rate = rate; }
  // Each group's rate becomes this part of the one in its options: optimizer.scale_learning_rate(schedule(step)).
  void scale_learning_rate(double factor);
  const std::vector<Parameter>& parameters() const noexcept { return parameters_; }  // group after group

  // What must be kept besides the parameters to go on with the same bits: "0.mean", … in the order of the parameters, then the
  // learning rates, "group.0.learning_rate", ….
  std::vector<std::pair<std::string, Tensor>> state() const;
  // Names, shapes and types must be those of state(), in any order. Throws Error otherwise, and nothing has changed. Waits for
  // the learning rates.
  void set_state(const std::vector<std::pair<std::string, Tensor>>& state, Site site = Site::here());

 protected:
  // A part of the state: of the parameter's shape, or a counter.
  struct Slot {
    std::string_view name;
    bool counter = false;
  };
  Optimizer() = default;
  Optimizer(const Optimizer&) = default;
  Optimizer(Optimizer&&) noexcept = default;
  Optimizer& operator=(const Optimizer&) = default;
  Optimizer& operator=(Optimizer&&) noexcept = default;
  void add_slots(std::vector<Parameter> parameters, double learning_rate, std::vector<Slot> slots, Site site);
  // The update of a group at this learning rate: inputs parameter, gradient, slots; outputs parameter, slots.
  virtual Op update(std::size_t group, double learning_rate) const = 0;

 private:
  struct Group {
    std::size_t begin = 0, end = 0;  // in parameters_
    std::vector<Slot> slots = {};
    double given_rate = 0, learning_rate = 0;
    std::optional<Op> op = std::nullopt;  // at op_rate
    double op_rate = 0;
  };
  const Op& op_of(std::size_t group);
  void step(const Op& op, std::size_t parameter, Site site);

  std::vector<Parameter> parameters_;
  std::vector<std::vector<Tensor>> state_;  // one a slot of its group, for each parameter
  std::vector<Group> groups_;
};

}  // namespace regrow::optim
