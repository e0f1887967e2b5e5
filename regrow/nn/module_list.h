// SPDX-License-Identifier: Apache-2.0
// Modules of one type in a row, for a module to loop over; they are named "0", "1", …. One thread at a time.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <vector>

#include "regrow/nn/module.h"

namespace regrow::nn {

template <std::derived_from<Module> M>
class ModuleList : public Module {
 public:
  void push_back(const M& module) {
    add(std::to_string(modules_.size()), module);
    modules_.push_back(module);
  }
  std::size_t size() const noexcept { return modules_.size(); }
  const M& operator[](std::size_t i) const { return modules_.at(i); }
  auto begin() const noexcept { return modules_.begin(); }
  auto end() const noexcept { return modules_.end(); }

 private:
  std::vector<M> modules_;
};

}  // namespace regrow::nn
