// SPDX-License-Identifier: Apache-2.0
// Where swapped-out bytes wait outside the arenas: copies in host memory, by storage id. Not thread-safe: the channel's worker.
//
// Large copies go back to the system as soon as they are given up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace regrow::memory {

// What can keep swapped-out bytes. Ids are dense and used again after forget().
class Store {
 public:
  using Id = std::uint32_t;
  virtual ~Store() = default;

  // Keeps a copy under an id that has none. Throws Error if there is no room for it: then nothing is kept.
  virtual void write(Id id, std::span<const std::byte> bytes) = 0;
  // Copies back what write() kept, of the same size; it stays kept. Throws Error if it cannot be read back intact.
  virtual void read(Id id, std::span<std::byte> bytes) = 0;
  // Gives the copy up; nothing happens if there is none.
  virtual void forget(Id id) noexcept = 0;

  virtual bool has(Id id) const noexcept = 0;
  virtual std::size_t bytes() const noexcept = 0;  // of all copies
};

class HostStore final : public Store {
 public:
  HostStore() = default;
  ~HostStore() override;

  void write(Id id, std::span<const std::byte> bytes) override;
  void read(Id id, std::span<std::byte> bytes) override;
  void forget(Id id) noexcept override;
  bool has(Id id) const noexcept override { return id < copies_.size() && copies_[id].kept; }
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
