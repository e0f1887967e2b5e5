// SPDX-License-Identifier: Apache-2.0
// Delivers events to the observer while a profile runs; costs a test of a pointer while none does.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "regrow/events/event.h"

namespace regrow::runtime {

// Stamps the event, if it has no time yet, and hands it over: on this thread, which may not call a channel meanwhile. An exception of
// the observer is logged and goes no further.
void deliver(Observer& observer, Event event) noexcept;

// One side's view of the observer: the callers' or the worker's.
class Watch {
 public:
  // Non-null exactly while events are wanted. Any thread.
  Observer* observer() const noexcept { return active_.load(std::memory_order_acquire); }
  explicit operator bool() const noexcept { return observer() != nullptr; }
  void emit(const Event& event) const noexcept {
    if (Observer* const wanted = observer()) [[unlikely]] deliver(*wanted, event);
  }

  // The side's owner only.
  void observe(Observer* observer) noexcept {
    observer_ = observer;
    refresh();
  }
  void set_profiling(bool on) noexcept {
    profiling_ = on;
    refresh();
  }
  bool profiling() const noexcept { return profiling_; }
  Observer* registered() const noexcept { return observer_; }

 private:
  void refresh() noexcept { active_.store(profiling_ ? observer_ : nullptr, std::memory_order_release); }

  Observer* observer_ = nullptr;
  bool profiling_ = false;
  std::atomic<Observer*> active_{nullptr};
};

}  // namespace regrow::runtime
