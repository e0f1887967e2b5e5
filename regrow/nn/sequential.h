// SPDX-License-Identifier: Apache-2.0
// Modules one after the other; they are named "0", "1", …. One thread at a time.
#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <vector>

#include "regrow/nn/module.h"

namespace regrow::nn {

class Sequential : public Module {
 public:
  template <class... M>
  requires(sizeof...(M) > 0 && (std::derived_from<M, Module> && ...) &&
           !(sizeof...(M) == 1 && (std::same_as<M, Sequential> && ...))) explicit Sequential(const M&... modules) {
    (push_back(modules), ...);
  }
  Sequential() = default;

  template <std::derived_from<Module> M>
  void push_back(const M& module) {
    add(std::to_string(steps_.size()), module);
    steps_.emplace_back([step = M(module)](const Tensor& x) mutable { return step(x); });
  }
  std::size_t size() const noexcept { return steps_.size(); }
  Tensor operator()(Tensor x) const {
    for (const Step& step : steps_) x = step(x);
    return x;
  }

 private:
  using Step = std::function<Tensor(const Tensor&)>;
  std::vector<Step> steps_;
};

}  // namespace regrow::nn
