// SPDX-License-Identifier: Apache-2.0
// Sleeping on a word, as futex(2). Any thread. Unlike std::atomic::wait of libstdc++ it goes to sleep at once: that one first yields
// the processor several times, and on a loaded machine each time waits for everybody else's time slice.
#pragma once

#include <atomic>
#include <cstdint>

namespace regrow {

using FutexWord = std::atomic<std::uint32_t>;

// Sleeps while `word` is `expected`; may return without cause.
void futex_wait(const FutexWord& word, std::uint32_t expected) noexcept;
// The word itself is not touched, only its address: it may be gone already.
void futex_wake_one(const FutexWord& word) noexcept;
void futex_wake_all(const FutexWord& word) noexcept;

}  // namespace regrow
