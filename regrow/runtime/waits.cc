// SPDX-License-Identifier: Apache-2.0
#include "regrow/runtime/pause.h"
#include "regrow/runtime/waiter.h"

namespace regrow::runtime {

// One exchange decides whether anybody sleeps, so that no wake-up is lost. A caller that has seen it may have left its stack frame by
// the time of the wake-up, which names an address only: whoever sleeps there takes it for one without cause.
void Waiter::finish() noexcept {
  if (state_.exchange(done, std::memory_order_acq_rel) == asleep) futex_wake_one(state_);
}

void Waiter::wait() noexcept {
  for (int i = 0; i < 100; ++i) {
    if (state_.load(std::memory_order_acquire) == done) return;
    pause();
  }
  std::uint32_t state = pending;
  if (!state_.compare_exchange_strong(state, asleep, std::memory_order_acq_rel, std::memory_order_acquire) && state == done) return;
  while (state_.load(std::memory_order_acquire) != done) futex_wait(state_, asleep);
}

}  // namespace regrow::runtime
