// SPDX-License-Identifier: Apache-2.0
#include "tests/stress/malloc_counter.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

std::atomic<bool> counting = false;
std::atomic<std::uint64_t> allocations = 0;
std::atomic<std::uint64_t> excused = 0;
std::atomic<bool (*)()> excuse = nullptr;

void note(std::size_t size) {
  if (!counting.load(std::memory_order_relaxed)) return;
  if (syscall(SYS_gettid) == getpid()) return;
  if (auto* predicate = excuse.load(); predicate && size <= 256 && predicate()) {
    excused.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  allocations.fetch_add(1, std::memory_order_relaxed);
  static const bool stop = std::getenv("REGROW_ABORT_ON_ALLOCATION") != nullptr;  // to see where in a debugger
  if (stop) std::abort();
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) {
  note(size);
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  note(count * size);
  return __libc_calloc(count, size);
}
void* realloc(void* block, std::size_t size) {
  note(size);
  return __libc_realloc(block, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  note(size);
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  note(size);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** block, std::size_t alignment, std::size_t size) {
  note(size);
  *block = __libc_memalign(alignment, size);
  return *block ? 0 : ENOMEM;
}

}  // extern "C"

namespace regrow::stress {

void count_allocations(bool on) {
  if (on) allocations = 0, excused = 0;
  counting = on;
}
void excuse_allocations(bool (*predicate)()) { excuse = predicate; }
std::uint64_t excused_allocations() { return excused; }
std::uint64_t allocations_elsewhere() { return allocations; }

}  // namespace regrow::stress
