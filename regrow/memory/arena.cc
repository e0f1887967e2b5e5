// SPDX-License-Identifier: Apache-2.0
#include "regrow/memory/arena.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include "regrow/base/error.h"
#include "regrow/base/log.h"
#include "regrow/base/units.h"
#include "regrow/memory/poison.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

namespace regrow::memory {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::uint32_t no_access = 0xffffffff;

// Broken bookkeeping would let a tensor overwrite another: there is no way on from here.
[[noreturn]] void die(const char* what, std::uint64_t offset, std::size_t bytes, std::size_t committed, std::size_t limit) {
  std::fprintf(stderr, "regrow: arena: %s (range of %zu bytes at %llu, committed %zu, limit %zu)\n", what, bytes,
               static_cast<unsigned long long>(offset), committed, limit);
  std::abort();
}

std::size_t half_of_system_mappings() {
  std::size_t most = 65530;
  std::ifstream("/proc/sys/vm/max_map_count") >> most;
  return most / 2;
}

constexpr std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

std::size_t default_reserve_bytes() noexcept {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  const std::size_t memory = pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) : GiB(4);
  std::size_t bytes = std::bit_ceil(std::clamp(memory, GiB(4), GiB(1024))) * 4;
  if (shadowed) bytes = std::min(bytes, GiB(64));  // sanitizers leave less room, and map shadow memory beside it
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    bytes = std::min<std::size_t>(bytes, round_up(limit.rlim_cur / 4, huge_page));
  }
  return bytes;
}

Arena::Arena(std::size_t reserve_bytes)
    : reserved_(round_up(std::max<std::size_t>(reserve_bytes, 1), huge_page)), most_mappings_(half_of_system_mappings()) {
  const std::size_t mapped = reserved_ + huge_page;  // to be cut to whole huge pages
  void* start = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "reserving address space for an arena");
  const auto address = reinterpret_cast<std::uintptr_t>(start);
  const std::size_t before = round_up(address, huge_page) - address;
  base_ = static_cast<std::byte*>(start) + before;
  if (before > 0) munmap(start, before);
  munmap(base_ + reserved_, mapped - before - reserved_);
}

Arena::~Arena() {
  unpoison(base_, pages_.size() * granule_bytes);
  munmap(base_, reserved_);
}

void Arena::set_limit(std::size_t bytes) {
  if (bytes != 0 && bytes < committed_) die("the limit is set below what is committed", 0, bytes, committed_, bytes);
  limit_ = bytes;
}

void Arena::check_range(const char* what, std::uint64_t offset, std::size_t bytes, bool committed) const {
  if (offset % granule_bytes != 0 || bytes % granule_bytes != 0 || bytes == 0 || bytes > reserved_ || offset > reserved_ - bytes) {
    die(what, offset, bytes, committed_, limit_);
  }
  for (std::size_t g = offset / granule_bytes; g < (offset + bytes) / granule_bytes; ++g) {
    if ((g < pages_.size() && pages_[g].committed) != committed) die(what, offset, bytes, committed_, limit_);
  }
}

// Whether the mapping of a granule is another one than that of the granule before.
bool Arena::border(std::size_t granule) const noexcept {
  const std::uint32_t before = granule > 0 ? pages_[granule - 1].origin : no_access;
  const std::uint32_t here = granule < pages_.size() ? pages_[granule].origin : no_access;
  return before == no_access || here == no_access ? before != here : before + 1 != here;
}

void Arena::grow_pages(std::size_t end) {
  if (pages_.size() < end) pages_.resize(std::max(end, std::min(pages_.size() * 2, reserved_ / granule_bytes)));
}

void Arena::set_pages(std::size_t first, std::size_t count, std::uint32_t origin, bool committed) {
  grow_pages(first + count);
  for (std::size_t g = first; g <= first + count; ++g) mappings_ -= border(g) ? 1 : 0;
  for (std::size_t g = 0; g < count; ++g) {
    pages_[first + g] = {origin == no_access ? no_access : origin + static_cast<std::uint32_t>(g), committed};
  }
  for (std::size_t g = first; g <= first + count; ++g) mappings_ += border(g) ? 1 : 0;
}

void Arena::commit(std::uint64_t offset, std::size_t bytes) {
  check_range("commit: not a free range", offset, bytes, false);
  if (limit_ != 0 && bytes > limit_ - committed_) die("commit: more than the limit", offset, bytes, committed_, limit_);
  std::byte* const start = base_ + offset;
  const auto first = static_cast<std::size_t>(offset / granule_bytes);
  grow_pages(first + bytes / granule_bytes);
  // What was moved away or returned may still be mapped: its own mapping is made anew, so that it is one with its neighbours.
  if (mprotect(start, bytes, PROT_READ | PROT_WRITE) != 0) {
    const int error = errno;
    fail("the system has no memory for {} more: {}", format_bytes(bytes), std::generic_category().message(error));
  }
  if (!keeps_addresses_) madvise(start, bytes, MADV_HUGEPAGE);  // advice: a kernel without huge pages does without
  for (std::size_t g = first; g < first + bytes / granule_bytes; ++g) {
    const bool kept = g < pages_.size() && pages_[g].origin != no_access;
    set_pages(g, 1, kept ? pages_[g].origin : static_cast<std::uint32_t>(g), true);
  }
  committed_ += bytes;
  unpoison(start, bytes);
  keep_mappings_few();
}

void Arena::decommit(std::uint64_t offset, std::size_t bytes) {
  check_range("decommit: not a committed range", offset, bytes, true);
  unpoison(base_ + offset, bytes);
  hide(offset, bytes);
  committed_ -= bytes;
}

// Takes the pages and the access away.
void Arena::hide(std::uint64_t offset, std::size_t bytes) {
  std::byte* const start = base_ + offset;
  const auto first = static_cast<std::size_t>(offset / granule_bytes), count = bytes / granule_bytes;
  if (!keeps_addresses_) {
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    if (mmap(start, bytes, PROT_NONE, flags, -1, 0) != MAP_FAILED) {
      set_pages(first, count, no_access, false);
      keep_mappings_few();
      return;
    }
    most_mappings_ = 0;  // there are too many already
    keep_mappings_few();
  }
  if (madvise(start, bytes, MADV_DONTNEED) != 0) die("decommit: the system refused", offset, bytes, committed_, limit_);
  for (std::size_t g = first; g < first + count; ++g) pages_[g].committed = false;
}

void Arena::keep_mappings_few() {
  if (keeps_addresses_ || mappings_ <= most_mappings_) return;
  keeps_addresses_ = true;
  // A huge page could bring back pages that were returned.
  madvise(base_, reserved_, MADV_NOHUGEPAGE);
  log().warn("memory is fragmented into {} mappings: huge pages are switched off (vm.max_map_count)", mappings_);
}

// Moves a part that is one mapping. Returns how many granules.
std::size_t Arena::move_some(std::size_t from, std::size_t to, std::size_t count) {
  std::size_t n = 1;
  while (n < count && !border(from + n)) ++n;
  const auto remap = [&] {
    const int flags = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
    const std::size_t bytes = n * granule_bytes;
    return mremap(base_ + from * granule_bytes, bytes, bytes, flags, base_ + to * granule_bytes) != MAP_FAILED;
  };
  bool moved = remap();
  while (!moved && errno == EFAULT && n > 1) {  // the kernel has split what we count as one mapping
    n = n / 2;
    moved = remap();
  }
  if (moved) {
    set_pages(to, n, pages_[from].origin, true);
    return n;
  }
  // An old kernel, or too many mappings: other pages will do. The old ones go first, so that no limit is passed.
  const std::size_t bytes = n * granule_bytes;
  hide(from * granule_bytes, bytes);
  committed_ -= bytes;
  // The kernel makes room for what it then refuses to move: the target may be a hole, which anybody could be given.
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (mmap(base_ + to * granule_bytes, bytes, PROT_NONE, flags, -1, 0) == MAP_FAILED) {
    const int error = errno;
    fail("the system has no addresses for {}: {}", format_bytes(bytes), std::generic_category().message(error));
  }
  set_pages(to, n, no_access, false);
  commit(to * granule_bytes, bytes);
  return n;
}

void Arena::move(std::uint64_t from, std::uint64_t to, std::size_t bytes) {
  check_range("move: not a committed range", from, bytes, true);
  check_range("move: not a free range", to, bytes, false);
  if (from < to + bytes && to < from + bytes) die("move: ranges overlap", from, bytes, committed_, limit_);
  const std::size_t first = from / granule_bytes, target = to / granule_bytes, count = bytes / granule_bytes;
  unpoison(base_ + from, bytes);
  unpoison(base_ + to, bytes);
  grow_pages(target + count);
  const std::size_t rest = committed_ - bytes;
  std::size_t done = 0;
  try {
    while (done < count) done += move_some(first + done, target + done, count - done);
  } catch (...) {
    hide(from, bytes);
    if (done > 0) hide(to, done * granule_bytes);
    committed_ = rest;
    throw;
  }
  hide(from, bytes);  // the addresses stayed mapped, so that no other thread could be given them meanwhile
}

void Arena::mark_used(std::uint64_t offset, std::size_t occupied, std::size_t bytes) noexcept {
  poison(base_ + offset, occupied);
  unpoison(base_ + offset, bytes);
}

void Arena::mark_free(std::uint64_t offset, std::size_t occupied) noexcept { poison(base_ + offset, occupied); }

}  // namespace regrow::memory
