// SPDX-License-Identifier: Apache-2.0
// The operators that count. In a file of their own: seen where they are called, gcc takes malloc and delete for a mismatch.
#include "tests/io/allocations.h"

#include <cstdlib>
#include <new>

void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  regrow::io::allocated_bytes += bytes;
  return std::malloc(bytes);
}
void* operator new(std::size_t bytes) {
  if (void* memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t bytes) { return operator new(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
