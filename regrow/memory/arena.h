// SPDX-License-Identifier: Apache-2.0
// The bytes of one device: a large virtual reservation of which single granules are backed by pages. It carries out what the
// machine decided (commit, move, decommit) and asserts the budget on every commit, in every build. One thread: the channel's worker.
#pragma once

#include <cstddef>
#include <cstdint>

namespace regrow::memory {

inline constexpr std::size_t granule_bytes = std::size_t{64} << 10;

class Arena {
 public:
  // Reserves address space, no memory. Throws std::system_error if the kernel refuses.
  explicit Arena(std::size_t reserve_bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* base() const noexcept { return base_; }
  std::byte* at(std::uint64_t offset) const noexcept { return base_ + offset; }
  std::size_t reserved() const noexcept { return reserved_; }
  std::size_t committed() const noexcept { return committed_; }

  // The hard limit; 0: none. Aborts the process if it is below what is committed: the machine must have shed first.
  void set_limit(std::size_t bytes);
  // All offsets and sizes are multiples of granule_bytes.
  void commit(std::uint64_t offset, std::size_t bytes);    // readable and writable from here on; the limit is asserted
  void decommit(std::uint64_t offset, std::size_t bytes);  // pages go back to the system; the range may be committed again
  // The pages of `from` now stand at `to` (mremap: no bytes are copied, committed() does not change). `to` is not committed before,
  // `from` not after. The contents are unspecified.
  void move(std::uint64_t from, std::uint64_t to, std::size_t bytes);
  // Number of mappings that the arena has made: compaction keeps it below half of the system's limit.
  std::size_t mappings() const noexcept { return mappings_; }

 private:
  std::byte* base_ = nullptr;
  std::size_t reserved_ = 0;
  std::size_t committed_ = 0;
  std::size_t limit_ = 0;
  std::size_t mappings_ = 0;
};

}  // namespace regrow::memory
