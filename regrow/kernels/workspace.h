// SPDX-License-Identifier: Apache-2.0
// Pieces of an operation's workspace, handed out one after another. The same code that runs a kernel measures what it needs: on an
// empty workspace every piece is null and only `used()` counts. One thread.
#pragma once

#include <cstddef>
#include <span>

#include "regrow/base/error.h"

namespace regrow::kernels {

class Workspace {
 public:
  static constexpr std::size_t alignment = 64;

  Workspace() = default;  // measures
  explicit Workspace(std::span<std::byte> bytes) : base_(bytes.data()), size_(bytes.size()), real_(true) {}

  // The next `bytes`, aligned to 64; null while measuring. Throws Error if the workspace is too small: the operator asked for less
  // than it uses.
  std::byte* take(std::size_t bytes) {
    const std::size_t at = used_;
    used_ += (bytes + alignment - 1) / alignment * alignment;
    if (!real_) return nullptr;
    require(used_ <= size_, "the workspace has {} bytes, {} are needed", size_, used_);
    return base_ + at;
  }
  template <class T>
  T* take_array(std::int64_t count) {
    return reinterpret_cast<T*>(take(static_cast<std::size_t>(count) * sizeof(T)));
  }
  std::size_t used() const noexcept { return used_; }

 private:
  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
  std::size_t used_ = 0;
  bool real_ = false;
};

}  // namespace regrow::kernels
