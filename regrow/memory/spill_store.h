// SPDX-License-Identifier: Apache-2.0
// Where spilled bytes wait on disk: one file without a name, so that nothing is left however the process ends. Not thread-safe: one
// owner.
//
// Direct I/O where the file system allows it: whole pages go straight from and to the caller's memory, what is not aligned through a
// staging buffer of a fixed size. A checksum of each copy stays in memory and is verified when it is read. Space is used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "regrow/memory/spill_options.h"
#include "regrow/memory/store.h"

namespace regrow::memory {

class SpillStore final : public Store {
 public:
  static constexpr std::size_t staging_bytes = spill_staging_bytes;

  // Makes the directory if it does not exist. Throws Error if no file can be made there; warns if it is in memory (tmpfs).
  explicit SpillStore(const std::filesystem::path& directory, SpillOptions options = {});
  ~SpillStore() override;
  SpillStore(const SpillStore&) = delete;
  SpillStore& operator=(const SpillStore&) = delete;

  void write(Id id, std::span<const std::byte> bytes) override;
  void read(Id id, std::span<std::byte> bytes) override;
  void forget(Id id) noexcept override;
  bool has(Id id) const noexcept override { return id < copies_.size() && copies_[id].kept; }
  std::size_t size_of(Id id) const noexcept override { return copies_[id].bytes; }
  Id end() const noexcept override { return static_cast<Id>(copies_.size()); }
  std::size_t bytes() const noexcept override { return bytes_; }

  const std::string& directory() const noexcept { return directory_; }
  bool direct() const noexcept { return direct_; }
  bool in_memory() const noexcept { return in_memory_; }            // the directory is no disk
  std::uint64_t written() const noexcept { return written_; }       // in total
  std::uint64_t file_bytes() const noexcept { return file_bytes_; }  // that the file has ever needed

 private:
  struct Copy {
    std::uint64_t offset = 0, hash = 0;
    std::size_t bytes = 0;
    bool kept = false;
  };

  void set_direct(bool on) noexcept;
  std::uint64_t take(std::uint64_t bytes);
  void give(std::uint64_t offset, std::uint64_t bytes) noexcept;
  void remove_free(std::uint64_t offset, std::uint64_t bytes) noexcept;
  // All of it or Error. With direct I/O address, offset and size are whole pages.
  void write_all(const std::byte* data, std::size_t bytes, std::uint64_t offset);
  void read_all(std::byte* data, std::size_t bytes, std::uint64_t offset);
  // How much of the bytes can go without staging.
  std::size_t straight(const void* data, std::size_t bytes) const noexcept;

  std::string directory_;
  FileCalls calls_;
  int file_ = -1;
  bool direct_ = false, in_memory_ = false;
  std::byte* staging_ = nullptr;
  std::vector<Copy> copies_;
  std::size_t bytes_ = 0;
  std::uint64_t written_ = 0, file_bytes_ = 0;
  std::map<std::uint64_t, std::uint64_t> free_;                      // offset -> bytes; neighbours are one
  std::set<std::pair<std::uint64_t, std::uint64_t>> free_by_size_;  // (bytes, offset)
};

}  // namespace regrow::memory
