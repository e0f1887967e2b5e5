// SPDX-License-Identifier: Apache-2.0
// A parameter: a mutable cell {value, grad} that modules and optimizers share. Copies are handles to the same cell. One thread at
// a time.
#pragma once

#include <memory>

#include "regrow/frontend/tensor.h"

namespace regrow {

class Parameter {
 public:
  Parameter() = default;  // no cell
  explicit Parameter(const Tensor& initial, Site site = Site::here());
  // The same cell; inside detail::clone_of, a copy of it.
  Parameter(const Parameter& other);
  Parameter(Parameter&&) noexcept = default;
  Parameter& operator=(const Parameter& other) { return *this = Parameter(other); }
  Parameter& operator=(Parameter&&) noexcept = default;

  bool defined() const noexcept { return cell_ != nullptr; }
  // A leaf: what is computed from it sends its gradient into this cell.
  Tensor value() const;
  // Binds the cell to a new value of the same shape and type; tensors computed from the old one keep it.
  void set_value(const Tensor& value, Site site = Site::here()) const;
  Tensor grad() const;  // empty where nothing has flowed back
  void set_grad(const Tensor& grad) const;
  void zero_grad() const;
  friend bool operator==(const Parameter& a, const Parameter& b) noexcept { return a.cell_ == b.cell_; }

 private:
  struct Cell {
    Tensor leaf;
  };
  const Cell& cell() const;
  std::shared_ptr<Cell> cell_;
};

namespace detail {

// While it lives, copies of handles to shared state (parameters, modules) made on this thread are deep: equal handles give equal
// copies.
class Cloning {
 public:
  Cloning();
  ~Cloning();
  Cloning(const Cloning&) = delete;
  Cloning& operator=(const Cloning&) = delete;

  static Cloning* active() noexcept;
  // The copy of this state, or null; and how to say what it is.
  std::shared_ptr<void> copy_of(const void* state) const;
  void set_copy(const void* state, std::shared_ptr<void> copy);

 private:
  struct Map;
  std::unique_ptr<Map> map_;
  Cloning* outer_;
};

}  // namespace detail
}  // namespace regrow
