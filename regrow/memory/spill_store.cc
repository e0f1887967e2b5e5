// SPDX-License-Identifier: Apache-2.0
#include "regrow/memory/spill_store.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "regrow/base/error.h"
#include "regrow/base/hash.h"
#include "regrow/base/log.h"
#include "regrow/base/units.h"

namespace regrow::memory {
namespace {

constexpr std::size_t page = 4096;                          // of memory and file: what direct I/O is aligned to
constexpr std::size_t largest_call = std::size_t{16} << 20;  // bytes

int open_unnamed(const std::string& directory) {
  const int unnamed = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (unnamed >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return unnamed;
  // A file system without them: the name goes before anything is written.
  std::string path = directory + "/regrow-spill-XXXXXX";
  const int named = ::mkostemp(path.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(path.c_str());
  return named;
}

constexpr std::size_t whole_pages(std::size_t bytes) noexcept { return (bytes + page - 1) / page * page; }
std::string reason(int code) { return std::generic_category().message(code); }

}  // namespace

SpillStore::SpillStore(const std::filesystem::path& directory, SpillOptions options)
    : directory_(directory.string()), calls_(std::move(options.calls)) {
  if (!calls_.open) calls_.open = open_unnamed;
  if (!calls_.pwrite) calls_.pwrite = ::pwrite;
  if (!calls_.pread) calls_.pread = ::pread;
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  require(!failed, "spill: the directory {} cannot be made: {}", directory_, failed.message());
  file_ = calls_.open(directory_);
  require(file_ >= 0, "spill: no file can be made in {}: {}", directory_, reason(errno));
  void* staging = mmap(nullptr, staging_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (staging == MAP_FAILED) {
    ::close(file_);
    fail("spill: no memory for {} of staging: {}", format_bytes(staging_bytes), reason(errno));
  }
  staging_ = static_cast<std::byte*>(staging);
  struct statfs system {};
  in_memory_ = ::fstatfs(file_, &system) == 0 && (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
  if (in_memory_) log().warn("spill: {} is in memory (tmpfs): what is spilled there takes as much of it as before", directory_);
  if (options.direct) set_direct(true);
}

SpillStore::~SpillStore() {
  munmap(staging_, staging_bytes);
  ::close(file_);
}

void SpillStore::set_direct(bool on) noexcept {
  const int flags = ::fcntl(file_, F_GETFL);
  const bool done = flags >= 0 && ::fcntl(file_, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
  direct_ = on && done;
}

// ---- Space ----

std::uint64_t SpillStore::take(std::uint64_t bytes) {
  if (bytes == 0) return 0;
  const auto fit = free_by_size_.lower_bound({bytes, 0});
  if (fit == free_by_size_.end()) return std::exchange(file_bytes_, file_bytes_ + bytes);
  const auto [size, offset] = *fit;
  remove_free(offset, size);
  if (size > bytes) give(offset + bytes, size - bytes);
  return offset;
}

void SpillStore::remove_free(std::uint64_t offset, std::uint64_t bytes) noexcept {
  free_.erase(offset);
  free_by_size_.erase({bytes, offset});
}

void SpillStore::give(std::uint64_t offset, std::uint64_t bytes) noexcept {
  if (bytes == 0) return;
  const auto after = free_.lower_bound(offset);
  std::uint64_t begin = offset, end = offset + bytes;
  if (after != free_.begin()) {
    const auto [before, size] = *std::prev(after);
    if (before + size == offset) begin = before, remove_free(before, size);
  }
  if (const auto next = free_.find(end); next != free_.end()) {
    const auto [at, size] = *next;
    end += size;
    remove_free(at, size);
  }
  free_[begin] = end - begin;
  free_by_size_.insert({end - begin, begin});
}

// ---- Bytes ----

std::size_t SpillStore::straight(const void* data, std::size_t bytes) const noexcept {
  if (!direct_) return bytes;
  return reinterpret_cast<std::uintptr_t>(data) % page == 0 ? bytes / page * page : 0;
}

void SpillStore::write_all(const std::byte* data, std::size_t bytes, std::uint64_t offset) {
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t want = std::min(bytes - done, largest_call);
    const ssize_t got = calls_.pwrite(file_, data + done, want, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EINVAL && direct_) {  // the file system takes the flag and not the call
      set_direct(false);
      continue;
    }
    require(got >= 0, "spill: {} cannot be written in {}: {}", format_bytes(bytes), directory_, reason(errno));
    const auto whole = direct_ ? static_cast<std::size_t>(got) / page * page : static_cast<std::size_t>(got);
    require(whole > 0, "spill: {} cannot be written in {}: the file takes no more", format_bytes(bytes), directory_);
    done += whole;
  }
}

void SpillStore::read_all(std::byte* data, std::size_t bytes, std::uint64_t offset) {
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t want = std::min(bytes - done, largest_call);
    const ssize_t got = calls_.pread(file_, data + done, want, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    require(got >= 0, "spill: {} cannot be read in {}: {}", format_bytes(bytes), directory_, reason(errno));
    const auto whole = direct_ ? static_cast<std::size_t>(got) / page * page : static_cast<std::size_t>(got);
    require(whole > 0, "spill: {} cannot be read in {}: the file ends {} too early", format_bytes(bytes), directory_,
            format_bytes(bytes - done));
    done += whole;
  }
}

void SpillStore::write(Id id, std::span<const std::byte> bytes) {
  require(!has(id), "spill: storage {} is kept already", id);
  if (copies_.size() <= id) copies_.resize(std::size_t{id} + 1);
  const std::uint64_t offset = take(whole_pages(bytes.size()));
  try {
    std::size_t done = straight(bytes.data(), bytes.size());
    write_all(bytes.data(), done, offset);
    while (done < bytes.size()) {
      const std::size_t part = std::min(bytes.size() - done, staging_bytes), whole = whole_pages(part);
      std::memcpy(staging_, bytes.data() + done, part);
      std::memset(staging_ + part, 0, whole - part);
      write_all(staging_, whole, offset + done);
      done += part;
    }
  } catch (...) {
    give(offset, whole_pages(bytes.size()));
    throw;
  }
  copies_[id] = {offset, hash_bytes(bytes.data(), bytes.size()), bytes.size(), true};
  bytes_ += bytes.size();
  written_ += bytes.size();
}

void SpillStore::read(Id id, std::span<std::byte> bytes) {
  require(has(id), "spill: storage {} is not kept", id);
  const Copy& copy = copies_[id];
  require(copy.bytes == bytes.size(), "spill: storage {} has {} bytes and not {}", id, copy.bytes, bytes.size());
  std::size_t done = straight(bytes.data(), bytes.size());
  read_all(bytes.data(), done, copy.offset);
  while (done < bytes.size()) {
    const std::size_t part = std::min(bytes.size() - done, staging_bytes);
    read_all(staging_, whole_pages(part), copy.offset + done);
    std::memcpy(bytes.data() + done, staging_, part);
    done += part;
  }
  require(hash_bytes(bytes.data(), bytes.size()) == copy.hash, "spill: {} that were read in {} are not what was written",
          format_bytes(bytes.size()), directory_);
}

void SpillStore::forget(Id id) noexcept {
  if (!has(id)) return;
  give(copies_[id].offset, whole_pages(copies_[id].bytes));
  bytes_ -= copies_[id].bytes;
  copies_[id] = {};
}

}  // namespace regrow::memory
