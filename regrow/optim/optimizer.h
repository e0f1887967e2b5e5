// SPDX-License-Identifier: Apache-2.0
// What optimizers share: they hold parameters, read their gradients and bind them to new values. One thread at a time.
#pragma once

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

  double learning_rate() const noexcept { return learning_rate_; }
  void set_learning_rate(double rate) { learning_rate_ = rate; }
  const std::vector<Parameter>& parameters() const noexcept { return parameters_; }

  // What must be kept besides the parameters to go on with the same bits: "0.mean", … in the order of the parameters.
  std::vector<std::pair<std::string, Tensor>> state() const;
  // Names, shapes and types must be those of state(). Throws Error otherwise, and nothing has changed.
  void set_state(const std::vector<std::pair<std::string, Tensor>>& state, Site site = Site::here());

 protected:
  // A part of the state: of the parameter's shape, or a counter.
  struct Slot {
    std::string_view name;
    bool counter = false;
  };
  Optimizer(std::vector<Parameter> parameters, double learning_rate, std::vector<Slot> slots, Site site);
  // The update at this learning rate: inputs parameter, gradient, slots; outputs parameter, slots.
  virtual Op update(double learning_rate) const = 0;

 private:
  std::vector<Parameter> parameters_;
  double learning_rate_;
  std::vector<Slot> slots_;
  std::vector<std::vector<Tensor>> state_;  // one an entry of slots_, for each parameter
};

}  // namespace regrow::optim
