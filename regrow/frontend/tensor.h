// SPDX-License-Identifier: Apache-2.0
// The tensor that users hold: a value. An operation never changes a tensor that someone else can see; `x += y` and `x[i] = v`
// bind `x` to a new value. Copies are cheap. Any thread may use a tensor; one variable, as ever, is written by one thread at a
// time.
#pragma once

#include <concepts>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "regrow/autograd/value.h"
#include "regrow/frontend/index.h"
#include "regrow/tensor/host_array.h"

namespace regrow {

class Item;
class Operand;
struct BackwardOptions;

class Tensor {
 public:
  Tensor() = default;  // empty: no value; nearly every use throws Error
  explicit Tensor(autograd::Value value) : value_(std::move(value)) {}

  bool defined() const noexcept { return static_cast<bool>(value_); }
  // shape() and what follows from it wait where the shape depends on data (nonzero, masked_select, callbacks).
  Shape shape(Site site = Site::here()) const { return value_.known_desc(site)->desc.shape; }
  int rank(Site site = Site::here()) const { return shape(site).rank(); }
  std::int64_t size(Site site = Site::here()) const { return element_count(shape(site)); }
  Strides strides(Site site = Site::here()) const { return value_.known_desc(site)->desc.strides; }
  DType dtype(Site site = Site::here()) const { return value_.desc(site)->desc.dtype; }
  Device device(Site site = Site::here()) const { return value_.desc(site)->desc.device; }

  // These wait, and throw the error of whatever failed on the way to this value.
  void wait(Site site = Site::here()) const;
  HostArray host(Site site = Site::here()) const;
  // Row-major. T must be exactly the element type.
  template <class T>
  std::vector<T> to_vector(Site site = Site::here()) const {
    return host(site).to_vector<T>(site);
  }
  // The only element.
  template <class T>
  T item(Site site = Site::here()) const {
    return host(site).item<T>(site);
  }

  // Gives the memory back; the value is computed again, bit for bit, when it is next needed. Ignored where it cannot be.
  void drop(Site site = Site::here()) const;

  Tensor reshape(const Shape& shape, Site site = Site::here()) const;  // one size may be -1
  // The shape as a tensor: never waits for the worker if it is known on the host.
  template <std::derived_from<Tensor> T>
  Tensor reshape(const T& shape, Site site = Site::here()) const {
    return reshape_to(shape, site);
  }
  Tensor astype(DType dtype, Site site = Site::here()) const;

  // x[1], x[{0, rg::slice(1, rg::none)}], x[rg::ellipsis], x[mask]: NumPy's rules. What is read is a snapshot. On a variable the
  // result can also be assigned to: x[1] = v binds x to a new value.
  Item operator[](const Index& index) &;
  Item operator[](std::initializer_list<Index> indices) &;
  Tensor operator[](const Index& index) const&;
  Tensor operator[](std::initializer_list<Index> indices) const&;
  Tensor operator[](const Index& index) &&;
  Tensor operator[](std::initializer_list<Index> indices) &&;

  Tensor& operator+=(const Operand& other);
  Tensor& operator-=(const Operand& other);
  Tensor& operator*=(const Operand& other);
  Tensor& operator/=(const Operand& other);
  Tensor& operator%=(const Operand& other);
  Tensor& operator&=(const Operand& other);
  Tensor& operator|=(const Operand& other);
  Tensor& operator^=(const Operand& other);

  // The same value as a leaf: copies of it share a gradient cell, to which backward() adds.
  Tensor requires_grad(Site site = Site::here()) const;
  bool is_leaf() const noexcept { return value_.is_leaf(); }
  bool needs_grad() const noexcept { return value_.needs_grad(); }  // a leaf, or computed from one
  Tensor detach() const { return Tensor(value_.detached()); }
  Tensor grad(Site site = Site::here()) const;     // of a leaf; empty where nothing has flowed back
  void zero_grad(Site site = Site::here()) const;  // empties a leaf's gradient cell
  // Adds the gradient of this one element to the gradient cells of all leaves it depends on.
  void backward(Site site = Site::here()) const;
  void backward(const BackwardOptions& options, Site site = Site::here()) const;

  Handle handle() const noexcept { return value_.handle(); }  // of the default channel, as long as the tensor lives
  const autograd::Value& traced() const noexcept { return value_; }

 private:
  friend class Item;
  Tensor reshape_to(const Tensor& shape, Site site) const;
  Tensor at(std::span<const Index> indices) const;

  autograd::Value value_;
};

// x[…] of a variable x: the elements as they were when it was written down; while it is a temporary, assigning to it rebinds x.
class Item : public Tensor {
 public:
  Item(const Item&) = default;

  void operator=(const Operand& value) &&;
  void operator=(const Item& value) &&;
  void operator+=(const Operand& other) &&;
  void operator-=(const Operand& other) &&;
  void operator*=(const Operand& other) &&;
  void operator/=(const Operand& other) &&;
  void operator%=(const Operand& other) &&;
  void operator&=(const Operand& other) &&;
  void operator|=(const Operand& other) &&;
  void operator^=(const Operand& other) &&;
  // A named item is a tensor like any other.
  Item& operator=(const Tensor& value) &;
  Item& operator=(const Item& value) &;

 private:
  friend class Tensor;
  Item(Tensor& whole, std::span<const Index> indices);
  void assign(const Operand& value);

  Tensor* whole_;
  std::span<const Index> indices_;  // as long as the expression that assigns
};

// One element of an operation: a tensor, or a literal, which takes the type of the tensors it meets. It knows its line.
class Operand {
 public:
  Operand(const Tensor& tensor, Site site = Site::here()) : tensor_(&tensor), site_(site) {}  // NOLINT: `a + b`
  template <class T>
  requires std::is_arithmetic_v<T> Operand(T literal, Site site = Site::here())
      : literal_(literal), site_(site) {}  // NOLINT: `1 - a`

  Operand(const Scalar& literal, Site site = Site::here()) : literal_(literal), site_(site) {}  // NOLINT

  const Tensor* tensor() const noexcept { return tensor_; }  // null: a literal
  const Scalar& literal() const noexcept { return literal_; }
  Site site() const noexcept { return site_; }

 private:
  const Tensor* tensor_ = nullptr;
  Scalar literal_;
  Site site_;
};

// Elementwise, with broadcasting and the promotion rules of the array API. & | ^ ~ are logic and take bool.
Tensor operator+(const Operand& a, const Operand& b);
Tensor operator-(const Operand& a, const Operand& b);
Tensor operator*(const Operand& a, const Operand& b);
Tensor operator/(const Operand& a, const Operand& b);
Tensor operator%(const Operand& a, const Operand& b);
Tensor operator&(const Operand& a, const Operand& b);
Tensor operator|(const Operand& a, const Operand& b);
Tensor operator^(const Operand& a, const Operand& b);
Tensor operator==(const Operand& a, const Operand& b);
Tensor operator!=(const Operand& a, const Operand& b);
Tensor operator<(const Operand& a, const Operand& b);
Tensor operator<=(const Operand& a, const Operand& b);
Tensor operator>(const Operand& a, const Operand& b);
Tensor operator>=(const Operand& a, const Operand& b);
Tensor operator-(const Operand& a);
Tensor operator~(const Operand& a);

// As NumPy prints an array. Waits.
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);
std::string to_string(const Tensor& tensor, Site site = Site::here());

}  // namespace regrow
