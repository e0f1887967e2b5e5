// SPDX-License-Identifier: Apache-2.0
// The operators that count. In a file of their own: seen where they are called, gcc takes malloc and delete for a mismatch.
#include "tests/io/allocations.h"

#include <cstdlib>
#include <new>

void* operator new(std::size_t bytes) {
  regrow::io::allocated_bytes += bytes;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t bytes) { return operator new(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
