// SPDX-License-Identifier: Apache-2.0
// The bytes of one device: a large virtual reservation of which single granules are backed by pages. It carries out what the
// machine decided (commit, move, decommit) and asserts the budget on every commit, in every build. One thread: the channel's worker.
//
// Only committed granules are readable and writable, and a huge page forms only within them, so that the resident set never exceeds
// committed(). Freshly committed bytes are zero and recycled ones are what they were: nobody may rely on either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace regrow::memory {

inline constexpr std::size_t granule_bytes = std::size_t{64} << 10;

// Address space for one arena: four times the memory of this machine, so that holes in it never matter; less where the process may
// not have so much.
std::size_t default_reserve_bytes() noexcept;

class Arena {
 public:
  // Reserves address space, no memory. Throws std::system_error if the kernel refuses.
  explicit Arena(std::size_t reserve_bytes = default_reserve_bytes());
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* base() const noexcept { return base_; }
  std::byte* at(std::uint64_t offset) const noexcept { return base_ + offset; }
  std::size_t reserved() const noexcept { return reserved_; }
  std::size_t committed() const noexcept { return committed_; }

  // The hard limit; 0: none. Aborts the process if it is below what is committed: the machine must have shed first.
  void set_limit(std::size_t bytes);
  // All offsets and sizes are multiples of granule_bytes; what is not there, or there already, aborts the process.
  // Readable and writable from here on; the limit is asserted. Throws Error if the system has no memory for it: nothing has changed.
  void commit(std::uint64_t offset, std::size_t bytes);
  void decommit(std::uint64_t offset, std::size_t bytes);  // pages go back to the system; the range may be committed again
  // The pages of `from` now stand at `to` (mremap: no bytes are copied, committed() does not change). `to` is not committed before,
  // `from` not after, and they do not overlap. The contents are unspecified: a kernel that cannot move pages gives new ones. Throws
  // Error if it has none to give: then neither is committed.
  void move(std::uint64_t from, std::uint64_t to, std::size_t bytes);
  // Number of mappings that the arena has made. At half the system's limit the addresses of decommitted granules stay mapped
  // (their pages are returned all the same) and huge pages are switched off, so that it grows no further.
  std::size_t mappings() const noexcept { return mappings_; }

  // For the address sanitizer, nothing in other builds: a block of `occupied` bytes was placed of which `bytes` may be touched; a
  // block was released.
  void mark_used(std::uint64_t offset, std::size_t occupied, std::size_t bytes) noexcept;
  void mark_free(std::uint64_t offset, std::size_t occupied) noexcept;

 private:
  void check_range(const char* what, std::uint64_t offset, std::size_t bytes, bool committed) const;
  void grow_pages(std::size_t end);
  void set_pages(std::size_t first, std::size_t count, std::uint32_t origin, bool committed);
  void hide(std::uint64_t offset, std::size_t bytes);
  void keep_mappings_few();
  std::size_t move_some(std::size_t from, std::size_t to, std::size_t count);
  bool border(std::size_t granule) const noexcept;

  // What is mapped at a granule: consecutive origins are one mapping.
  struct Page {
    std::uint32_t origin = 0xffffffff;  // the granule that it was mapped at first; 0xffffffff: no access
    bool committed = false;
  };

  std::byte* base_ = nullptr;
  std::size_t reserved_ = 0;
  std::size_t committed_ = 0;
  std::size_t limit_ = 0;
  std::size_t mappings_ = 1;
  std::size_t most_mappings_ = 0;
  bool keeps_addresses_ = false;
  std::vector<Page> pages_;  // up to the highest granule that was ever committed
};

}  // namespace regrow::memory
