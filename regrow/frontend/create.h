// SPDX-License-Identifier: Apache-2.0
// Tensors from literals, host memory and shapes. Any thread.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "regrow/frontend/tensor.h"

namespace regrow {

struct TensorOptions {
  std::optional<DType> dtype = std::nullopt;
  Device device = {};
};

// A number, or a braced list of them, of lists of them, and so on.
class Literal {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> Literal(T value) : scalar_(value), dtype_(dtype_of_literal<T>()) {}  // NOLINT: `{1, 2}`
  Literal(std::initializer_list<Literal> items) : list_(true), items_(items) {}

  bool is_list() const noexcept { return list_; }
  const Scalar& scalar() const noexcept { return scalar_; }
  DType dtype() const noexcept { return dtype_; }
  const std::vector<Literal>& items() const noexcept { return items_; }

  // Integers are i64, floating point is f32 or f64 as written.
  template <class T>
  static constexpr DType dtype_of_literal() {
    if constexpr (std::is_same_v<T, bool>)
      return DType::boolean;
    else if constexpr (std::is_same_v<T, float>)
      return DType::f32;
    else if constexpr (std::is_floating_point_v<T>)
      return DType::f64;
    else
      return DType::i64;
  }

 private:
  bool list_ = false;
  Scalar scalar_;
  DType dtype_ = DType::f32;
  std::vector<Literal> items_;
};

// tensor({{1.f, 2.f}, {3.f, 4.f}}). Lists of unequal lengths are an Error.
Tensor tensor(std::initializer_list<Literal> values, const TensorOptions& options = {}, Site site = Site::here());
Tensor tensor(const HostArray& value, const TensorOptions& options = {}, Site site = Site::here());
// A scalar.
template <class T>
requires std::is_arithmetic_v<T> Tensor tensor(T value, TensorOptions options = {}, Site site = Site::here()) {
  if (!options.dtype) options.dtype = Literal::dtype_of_literal<T>();
  return tensor(HostArray::scalar(value, *options.dtype), options, site);
}
// Host memory, row-major; it is copied now.
template <class T>
Tensor tensor(std::span<T> values, const Shape& shape, const TensorOptions& options = {}, Site site = Site::here()) {
  return tensor(HostArray::from(std::span<const T>(values), shape, site), options, site);
}
template <class T>
Tensor tensor(const std::vector<T>& values, const Shape& shape, const TensorOptions& options = {}, Site site = Site::here()) {
  return tensor(HostArray::from(values, shape, site), options, site);
}
template <class T>
Tensor tensor(const std::vector<T>& values, const TensorOptions& options = {}, Site site = Site::here()) {
  return tensor(HostArray::from(values, {static_cast<std::int64_t>(values.size())}, site), options, site);
}

namespace detail {
Tensor filled(const Shape& shape, const Scalar& value, DType dtype, Device device, Site site);
Tensor range(const Scalar& start, const Scalar& stop, const Scalar& step, DType dtype, Device device, Site site);
// A shape from the values of a tensor of integers. Throws Error on anything else.
Shape shape_from(const HostArray& sizes, Site site);
}  // namespace detail

// The default type of zeros and ones is f32; of full and arange, that of the literal.
Tensor zeros(const Shape& shape, const TensorOptions& options = {}, Site site = Site::here());
Tensor ones(const Shape& shape, const TensorOptions& options = {}, Site site = Site::here());
Tensor zeros_like(const Tensor& like, Site site = Site::here());
Tensor ones_like(const Tensor& like, Site site = Site::here());
template <class T>
requires std::is_arithmetic_v<T> Tensor full(const Shape& shape, T value, const TensorOptions& options = {},
                                             Site site = Site::here()) {
  return detail::filled(shape, value, options.dtype.value_or(Literal::dtype_of_literal<T>()), options.device, site);
}
// start, start + step, … before stop.
template <class T>
requires std::is_arithmetic_v<T> Tensor arange(T start, std::type_identity_t<T> stop, std::type_identity_t<T> step = 1,
                                               const TensorOptions& options = {}, Site site = Site::here()) {
  return detail::range(start, stop, step, options.dtype.value_or(Literal::dtype_of_literal<T>()), options.device, site);
}
template <class T>
requires std::is_arithmetic_v<T> Tensor arange(T stop, const TensorOptions& options = {}, Site site = Site::here()) {
  return arange(T{0}, stop, T{1}, options, site);
}

}  // namespace regrow
