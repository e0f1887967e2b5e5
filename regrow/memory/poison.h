// SPDX-License-Identifier: Apache-2.0
// What the sanitizers are told about memory that we manage ourselves; nothing in other builds. Any thread.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define REGROW_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define REGROW_ADDRESS_SANITIZER 1
#endif
#endif

#if defined(__SANITIZE_THREAD__)
#define REGROW_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define REGROW_THREAD_SANITIZER 1
#endif
#endif

#ifdef REGROW_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace regrow::memory {

#if defined(REGROW_ADDRESS_SANITIZER) || defined(REGROW_THREAD_SANITIZER)
inline constexpr bool shadowed = true;
#else
inline constexpr bool shadowed = false;
#endif

inline void poison([[maybe_unused]] const void* data, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef REGROW_ADDRESS_SANITIZER
  __asan_poison_memory_region(data, bytes);
#endif
}

inline void unpoison([[maybe_unused]] const void* data, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef REGROW_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(data, bytes);
#endif
}

}  // namespace regrow::memory
