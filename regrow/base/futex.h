// SPDX-License-Identifier: Apache-2.0
// Sleeping until a word changes (futex(2)), and what to do between two looks at it. Any thread.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace regrow {

static_assert(sizeof(std::atomic<std::uint32_t>) == 4 && std::atomic<std::uint32_t>::is_always_lock_free);

// Returns when woken, when the word is not `expected`, or for no reason.
inline void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

inline void futex_wake(const std::atomic<std::uint32_t>& word, int threads = INT_MAX) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
}

// Tells the processor that this loop waits for another one.
inline void spin_pause() noexcept { __builtin_ia32_pause(); }

}  // namespace regrow
