// SPDX-License-Identifier: Apache-2.0
// A buffer: a mutable cell {value} of a module's state that is not learnt, such as a running mean. Copies are handles to the same
// cell. One thread at a time.
#pragma once

#include <memory>

#include "regrow/frontend/tensor.h"

namespace regrow::nn {

class Buffer {
 public:
  Buffer() = default;  // no cell
  explicit Buffer(const Tensor& initial);
  // The same cell; inside clone, a copy of it.
  Buffer(const Buffer& other);
  Buffer(Buffer&&) noexcept = default;
  Buffer& operator=(const Buffer& other) { return *this = Buffer(other); }
  Buffer& operator=(Buffer&&) noexcept = default;

  bool defined() const noexcept { return cell_ != nullptr; }
  Tensor value() const;  // carries no gradient
  // Binds the cell to a new value of the same shape and type; tensors computed from the old one keep it.
  void set_value(const Tensor& value, Site site = Site::here()) const;
  friend bool operator==(const Buffer& a, const Buffer& b) noexcept { return a.cell_ == b.cell_; }

 private:
  std::shared_ptr<Tensor> cell_;
};

}  // namespace regrow::nn
