// SPDX-License-Identifier: Apache-2.0
// All that the callers of a channel and its worker share. Beside it they meet in waiters only, one-shot and on the caller's stack.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>

#include "regrow/base/futex.h"
#include "regrow/runtime/command_buffer.h"

namespace regrow::runtime {

struct Stream {
  // Held by a caller while it issues, never while it waits; by the worker while it takes the window of callers that have gone quiet.
  std::mutex mutex;
  CommandBuffer buffer;

  // A budget is set somewhere: what runs must depend on the stream only, so that the worker may not take the window.
  std::atomic<bool> window_is_held{false};
  std::atomic<std::size_t> queued_bytes{0};   // of host values in commands that have not run
  std::atomic<std::uint64_t> failed_puts{0};  // constants among them must not be handed out again

  // The worker sleeps on `sleeping`; throttled callers sleep on `progress`.
  FutexWord sleeping{0};
  FutexWord throttled{0}, progress{0};

  // The worker failed: nothing runs any more, and every call throws `fatal` (written once, under the mutex, before `broken`).
  std::atomic<bool> broken{false};
  std::exception_ptr fatal;
  std::atomic<bool> fatal_told{false};

  // After a commit or a release, without the mutex.
  void wake_worker() noexcept {
    if (sleeping.load(std::memory_order_seq_cst) != 0 && sleeping.exchange(0) != 0) futex_wake_one(sleeping);
  }
  void let_throttled_go() noexcept {
    if (throttled.load(std::memory_order_seq_cst) == 0) return;
    progress.fetch_add(1);
    futex_wake_all(progress);
  }
};

}  // namespace regrow::runtime
