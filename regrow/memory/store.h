// SPDX-License-Identifier: Apache-2.0
// What can keep the bytes of storages outside the arenas. Not thread-safe: one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace regrow::memory {

// Ids are dense and used again after forget().
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
  virtual std::size_t size_of(Id id) const noexcept = 0;  // of a copy that there is
  virtual Id end() const noexcept = 0;                    // no copy has this id or a larger one
  virtual std::size_t bytes() const noexcept = 0;         // of all copies
};

}  // namespace regrow::memory
