// SPDX-License-Identifier: Apache-2.0
// A tensor's bytes where they are, without a copy: keeps its storage alive, resident and unchanged until released. Any thread.
#pragma once

#include <cstddef>
#include <memory>

#include "regrow/tensor/view.h"

namespace regrow {

class DeviceTensor {
 public:
  DeviceTensor() = default;
  // `owner` is released (on any thread, without blocking) with the last copy.
  DeviceTensor(Desc desc, const std::byte* data, std::shared_ptr<const void> owner)
      : desc_(std::move(desc)), data_(data), owner_(std::move(owner)) {}

  const Desc& desc() const noexcept { return desc_; }
  const std::byte* data() const noexcept { return data_; }  // of the element at index 0
  View view() const noexcept { return {&desc_, const_cast<std::byte*>(data_)}; }
  explicit operator bool() const noexcept { return owner_ != nullptr; }

 private:
  Desc desc_;
  const std::byte* data_ = nullptr;
  std::shared_ptr<const void> owner_;
};

}  // namespace regrow
