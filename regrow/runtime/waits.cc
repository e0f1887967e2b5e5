// SPDX-License-Identifier: Apache-2.0
#include "regrow/runtime/pause.h"
#include "regrow/runtime/waiter.h"

namespace regrow::runtime {

// The wake-up names the address of `done_` only; a caller that has seen the store already may have left its stack frame, which the
// kernel takes for a spurious wake-up of whoever sleeps there. The store must be seen before notify_one() looks whether anybody
// sleeps: with less than sequential consistency the two may pass each other, and the wake-up is lost.
void Waiter::finish() noexcept {
  done_.store(1, std::memory_order_seq_cst);
  done_.notify_one();
}

void Waiter::wait() noexcept {
  for (int i = 0; i < 100; ++i) {
    if (done_.load(std::memory_order_acquire)) return;
    pause();
  }
  while (!done_.load(std::memory_order_acquire)) done_.wait(0, std::memory_order_acquire);
}

}  // namespace regrow::runtime
