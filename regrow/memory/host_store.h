// SPDX-License-Identifier: Apache-2.0
// Where swapped-out bytes wait outside the arenas: copies in host memory, by storage id. Not thread-safe: the channel's worker.
//
// Large copies go back to the system as soon as they are given up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "regrow/memory/store.h"

namespace regrow::memory {

class HostStore final : public Store {
 public:
  HostStore() = default;
  ~HostStore() override;
  HostStore(HostStore&& other) noexcept { *this = std::move(other); }
  HostStore& operator=(HostStore&& other) noexcept {
    std::swap(copies_, other.copies_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  void write(Id id, std::span<const std::byte> bytes) override;
  void read(Id id, std::span<std::byte> bytes) override;
  void forget(Id id) noexcept override;
  bool has(Id id) const noexcept override { return id < copies_.size() && copies_[id].kept; }
  std::size_t size_of(Id id) const noexcept override { return copies_[id].bytes; }
  Id end() const noexcept override { return static_cast<Id>(copies_.size()); }
  std::size_t bytes() const noexcept override { return bytes_; }

 private:
  struct Copy {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    bool kept = false;  // a storage of no bytes is kept as well
  };
  std::vector<Copy> copies_;
  std::size_t bytes_ = 0;
};

}  // namespace regrow::memory
