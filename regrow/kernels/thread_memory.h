// SPDX-License-Identifier: Apache-2.0
// Memory that a thread keeps for its scratch: grown, never shrunk, so that a warm thread allocates nothing. Any thread, each its own.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace regrow::kernels {

template <std::size_t alignment>
class ThreadMemory {
 public:
  // At least so many bytes; what they held is lost if there were fewer.
  std::byte* reserve(std::size_t bytes) {
    if (bytes > size_) {
      memory_.reset(static_cast<std::byte*>(::operator new(bytes, std::align_val_t(alignment))));
      size_ = bytes;
    }
    return memory_.get();
  }
  std::byte* data() const noexcept { return memory_.get(); }

 private:
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, std::align_val_t(alignment)); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t size_ = 0;
};

}  // namespace regrow::kernels
