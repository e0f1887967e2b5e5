// SPDX-License-Identifier: Apache-2.0
#include "regrow/memory/host_store.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "regrow/base/error.h"
#include "regrow/base/units.h"

namespace regrow::memory {
namespace {

// From here on a copy is a mapping of its own: freed, its pages are the system's again at once.
constexpr std::size_t least_mapped = std::size_t{1} << 20;

std::byte* allocate(std::size_t bytes) {
  if (bytes < least_mapped) return static_cast<std::byte*>(std::malloc(bytes != 0 ? bytes : 1));
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  madvise(data, bytes, MADV_HUGEPAGE);
  return static_cast<std::byte*>(data);
}

void release(std::byte* data, std::size_t bytes) noexcept {
  if (bytes < least_mapped) {
    std::free(data);
  } else {
    munmap(data, bytes);
  }
}

}  // namespace

HostStore::~HostStore() {
  for (const Copy& copy : copies_) {
    if (copy.kept) release(copy.data, copy.bytes);
  }
}

void HostStore::write(Id id, std::span<const std::byte> bytes) {
  require(!has(id), "swap: storage {} is kept already", id);
  if (copies_.size() <= id) copies_.resize(std::size_t{id} + 1);
  std::byte* data = allocate(bytes.size());
  require(data != nullptr, "swap: no host memory for {}", format_bytes(bytes.size()));
  if (!bytes.empty()) std::memcpy(data, bytes.data(), bytes.size());
  copies_[id] = {data, bytes.size(), true};
  bytes_ += bytes.size();
}

void HostStore::read(Id id, std::span<std::byte> bytes) {
  require(has(id), "swap: storage {} is not kept", id);
  const Copy& copy = copies_[id];
  require(copy.bytes == bytes.size(), "swap: storage {} has {} bytes and not {}", id, copy.bytes, bytes.size());
  if (!bytes.empty()) std::memcpy(bytes.data(), copy.data, bytes.size());
}

void HostStore::forget(Id id) noexcept {
  if (!has(id)) return;
  release(copies_[id].data, copies_[id].bytes);
  bytes_ -= copies_[id].bytes;
  copies_[id] = {};
}

}  // namespace regrow::memory
