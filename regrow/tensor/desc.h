// SPDX-License-Identifier: Apache-2.0
// What is known of a tensor without its bytes: type, device, shape, strides. Any thread.
#pragma once

#include <optional>
#include <string>

#include "regrow/tensor/device.h"
#include "regrow/tensor/dims.h"
#include "regrow/tensor/dtype.h"
#include "regrow/tensor/layout.h"

namespace regrow {

// A shape that is only known once the operation has run.
inline constexpr std::nullopt_t unknown = std::nullopt;

struct Desc {
  DType dtype = DType::f32;
  Device device;
  bool known = true;  // whether shape and strides are; dtype and device always are
  Shape shape;
  Strides strides;  // in elements; they belong to the value and are restored exactly whenever it comes back

  static Desc dense(DType dtype, const Shape& shape, Device device = {}) {
    return {dtype, device, true, shape, contiguous_strides(shape)};
  }
  static Desc unknown_shape(DType dtype, Device device = {}) { return {dtype, device, false, {}, {}}; }

  std::int64_t count() const noexcept { return element_count(shape); }
  // Bytes from the lowest to the highest element touched; for a dense tensor, of its elements.
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(extent_of(shape, strides).count()) * size_of(dtype); }
  bool contiguous() const noexcept { return is_contiguous(shape, strides); }
  friend bool operator==(const Desc&, const Desc&) = default;
};

std::string to_string(const Desc& desc);  // "f32(2, 3)", "i64(?)"

}  // namespace regrow
