// SPDX-License-Identifier: Apache-2.0
// A lock for sections of a few instructions: it spins before it sleeps, so that a thread pays a system call only if the holder was
// descheduled. For std::lock_guard; any thread. The three states are those of Drepper, "Futexes are tricky" (2011).
#pragma once

#include <atomic>
#include <cstdint>

#include "regrow/base/futex.h"

namespace regrow {

class BriefLock {
 public:
  void lock() noexcept {
    for (int i = 0; i < 200; ++i) {
      std::uint32_t free = 0;
      if (state_.load(std::memory_order_relaxed) == 0 && state_.compare_exchange_weak(free, 1, std::memory_order_acquire)) return;
      spin_pause();
    }
    while (state_.exchange(2, std::memory_order_acquire) != 0) futex_wait(state_, 2);
  }
  void unlock() noexcept {
    if (state_.exchange(0, std::memory_order_release) == 2) futex_wake(state_, 1);
  }

 private:
  std::atomic<std::uint32_t> state_{0};  // 0: free; 1: held; 2: held, and someone sleeps
};

}  // namespace regrow
