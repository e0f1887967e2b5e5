// SPDX-License-Identifier: Apache-2.0
// What a kernel sees of a tensor: its descriptor and the address of its element at index 0. Owns nothing. Any thread.
#pragma once

#include <cstddef>

#include "regrow/tensor/desc.h"

namespace regrow {

struct View {
  const Desc* desc = nullptr;
  std::byte* data = nullptr;  // of the element at index 0; strides may be negative

  DType dtype() const noexcept { return desc->dtype; }
  const Shape& shape() const noexcept { return desc->shape; }
  const Strides& strides() const noexcept { return desc->strides; }
  std::int64_t count() const noexcept { return desc->count(); }
  bool contiguous() const noexcept { return desc->contiguous(); }
  template <class T>
  T* as() const noexcept {
    return reinterpret_cast<T*>(data);
  }
};

}  // namespace regrow
