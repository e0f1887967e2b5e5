// SPDX-License-Identifier: Apache-2.0
// A value on the host: type, shape, and its elements row-major in memory that copies share. Immutable. Any thread.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "regrow/base/error.h"
#include "regrow/tensor/desc.h"
#include "regrow/tensor/half.h"
#include "regrow/tensor/view.h"

namespace regrow {

class HostArray {
 public:
  HostArray() = default;  // f32, shape (0,)

  // Copies; throws Error if the count does not fit the shape.
  template <class T>
  static HostArray from(const std::vector<T>& values, const Shape& shape, Site site = Site::here()) {
    if constexpr (std::is_same_v<T, bool>) {
      std::unique_ptr<bool[]> flat(new bool[values.size()]);
      std::copy(values.begin(), values.end(), flat.get());
      return copy_of(DType::boolean, flat.get(), values.size(), shape, site);
    } else {
      return copy_of(dtype_of<T>(), values.data(), values.size(), shape, site);
    }
  }
  template <class T>
  static HostArray from(std::span<const T> values, const Shape& shape, Site site = Site::here()) {
    return copy_of(dtype_of<T>(), values.data(), values.size(), shape, site);
  }
  static HostArray scalar(const Scalar& value, DType dtype);
  // Uninitialized elements, to be written through the pointer before the array is shared.
  static HostArray uninitialized(DType dtype, const Shape& shape, std::byte** elements);
  // Gathers a view, whatever its strides.
  static HostArray gather(const View& view);

  DType dtype() const noexcept { return dtype_; }
  const Shape& shape() const noexcept { return shape_; }
  std::int64_t count() const noexcept { return element_count(shape_); }
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(count()) * size_of(dtype_); }
  const std::byte* data() const noexcept { return elements_.get(); }

  // The elements row-major. Throws Error if T is not exactly the element type.
  template <class T>
  std::vector<T> to_vector(Site site = Site::here()) const {
    require_type(dtype_of<T>(), site);
    const T* first = reinterpret_cast<const T*>(data());
    return std::vector<T>(first, first + count());
  }
  // The only element. Throws Error if there is not exactly one, or T is not exactly the element type.
  template <class T>
  T item(Site site = Site::here()) const {
    require_type(dtype_of<T>(), site);
    require_single(site);
    T value;
    std::memcpy(&value, data(), sizeof value);
    return value;
  }

 private:
  static HostArray copy_of(DType dtype, const void* values, std::size_t count, const Shape& shape, Site site);
  void require_type(DType wanted, Site site) const;
  void require_single(Site site) const;

  DType dtype_ = DType::f32;
  Shape shape_ = {0};
  std::shared_ptr<const std::byte[]> elements_;
};

}  // namespace regrow
