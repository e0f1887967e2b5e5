// SPDX-License-Identifier: Apache-2.0
// A module: a handle to shared state, a tree of named parameters, buffers, children and a mode. Copies share the state; clone()
// is deep. One thread at a time.
//
//   struct Net : nn::Module {
//     nn::Linear hidden{2, 16}, output{16, 1};
//     Net() { add("hidden", hidden), add("output", output); }
//     Tensor operator()(const Tensor& x) const { return output(tanh(hidden(x))); }
//   };
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "regrow/frontend/parameter.h"
#include "regrow/nn/buffer.h"
#include "regrow/nn/state_dict.h"

namespace regrow::nn {

class Module {
 public:
  Module();
  Module(const Module& other);  // the same state; inside clone, a copy of it
  Module(Module&&) noexcept = default;
  Module& operator=(const Module& other) { return *this = Module(other); }
  Module& operator=(Module&&) noexcept = default;
  ~Module() = default;

  // Names must be new in this module, without dots. Throws Error on one that is taken, and on a module inside itself.
  void add(std::string name, const Module& child, Site site = Site::here());
  Parameter add(std::string name, const Parameter& parameter, Site site = Site::here());
  Buffer add(std::string name, const Buffer& buffer, Site site = Site::here());

  // Of this module and all below, depth first in the order of adding; one that is shared comes once, under its first name.
  std::vector<Parameter> parameters() const;
  std::vector<std::pair<std::string, Parameter>> named_parameters() const;  // "hidden.weight"
  std::vector<std::pair<std::string, Buffer>> named_buffers() const;
  std::vector<std::pair<std::string, Module>> children() const;  // direct ones

  // The values of all parameters and buffers under the names that PyTorch gives them, module by module. None carries a gradient.
  StateDict state_dict() const;
  // Binds every parameter and buffer to the value of its name. Throws Error, and nothing has changed, where shapes or types
  // differ, and where names are missing or unexpected unless told not to be strict; then it returns those.
  StateDifference load_state_dict(const StateDict& state, const LoadOptions& options = {}, Site site = Site::here()) const;

  // Training mode (the default) or evaluation, of this module and all below: what dropout and the like go by.
  void train(bool training = true) const;
  void eval() const { train(false); }
  bool training() const noexcept;
  void zero_grad() const;  // empties the gradients of all parameters

  friend bool operator==(const Module& a, const Module& b) noexcept { return a.state_ == b.state_; }

 private:
  struct State;
  void require_new(const std::string& name, Site site) const;
  bool reaches(const State* state) const;
  struct Found;
  Found everything() const;
  void collect(const std::string& prefix, Found& found) const;
  static std::shared_ptr<State> copied(const State& state);

  std::shared_ptr<State> state_;
};

// A deep copy: parameters, children and mode of its own, with the same values. Works for every module whose members are modules,
// parameters, tensors and plain values.
template <class M>
M clone(const M& module) {
  detail::Cloning cloning;
  return M(module);
}

}  // namespace regrow::nn
