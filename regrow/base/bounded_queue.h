// SPDX-License-Identifier: Apache-2.0
// A queue of movable items from many producers to one consumer, who takes all that there is at once. Any thread may push, close or
// ask; one thread drains and releases.
//
// It is full by number of items or by weight (bytes, say), counted from push to release, that is until the consumer is done with an
// item and not only until it has taken it. Items of one producer stay in order. The consumer spins for a while before it sleeps, and
// a producer pays a system call only if it sleeps. Both buffers keep their capacity.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "regrow/base/brief_lock.h"
#include "regrow/base/clock.h"
#include "regrow/base/futex.h"

namespace regrow {

template <class T>
class BoundedQueue {
 public:
  // An item heavier than max_weight is accepted when nothing else has weight. Not more than `spin` is spent awake without work.
  BoundedQueue(std::size_t max_items, std::size_t max_weight, std::chrono::nanoseconds spin = std::chrono::microseconds(40))
      : max_items_(std::max<std::size_t>(max_items, 1)),
        max_weight_(std::max<std::size_t>(max_weight, 1)),
        spin_ns_(std::thread::hardware_concurrency() > 1 ? static_cast<std::uint64_t>(spin.count()) : 0) {}
  BoundedQueue(const BoundedQueue&) = delete;
  BoundedQueue& operator=(const BoundedQueue&) = delete;

  // Blocks while the queue is full. False, and the item is untouched, if it is closed.
  bool push(T&& item, std::size_t weight = 0) { return push(std::span<T>(&item, 1), weight); }
  // All of them or none, neighbours in the queue. Waits for room for one and for the weight: the others may exceed the capacity.
  bool push(std::span<T> items, std::size_t weight = 0) {
    for (;;) {
      const std::uint32_t epoch = room_epoch_.load();
      switch (try_push(items, weight)) {
        case Outcome::closed: return false;
        case Outcome::pushed: return true;
        case Outcome::pushed_to_sleeper: futex_wake(asleep_, 1); return true;
        case Outcome::full: futex_wait(room_epoch_, epoch);
      }
    }
  }
  // Never blocks, whatever the capacity. False, and the item is untouched, if it is closed.
  bool push_unbounded(T&& item, std::size_t weight = 0) {
    bool wake = false;
    {
      std::lock_guard guard(lock_);
      if (closed_) return false;
      wake = append(std::span<T>(&item, 1), weight);
    }
    if (wake) futex_wake(asleep_, 1);
    return true;
  }

  // Consumer: destroys what is in `batch` and puts all items there that are queued, waiting for the first. False: closed, and none
  // is left. An empty batch and true: poked.
  bool drain(std::vector<T>& batch) {
    batch.clear();
    spin();
    for (;;) {
      {
        std::lock_guard guard(lock_);
        const bool poked = std::exchange(poked_, false);
        batch.swap(queued_);
        ready_.store(false, std::memory_order_relaxed);
        if (!batch.empty() || poked) return true;
        if (closed_) return false;
        asleep_.store(1, std::memory_order_relaxed);
      }
      while (asleep_.load(std::memory_order_relaxed) == 1) futex_wait(asleep_, 1);
    }
  }
  // Consumer: as drain, without waiting. False if there was nothing.
  bool try_drain(std::vector<T>& batch) {
    batch.clear();
    if (!ready_.load(std::memory_order_relaxed)) return false;
    std::lock_guard guard(lock_);
    poked_ = false;
    batch.swap(queued_);
    ready_.store(false, std::memory_order_relaxed);
    return !batch.empty();
  }
  // Consumer: done with so many items of this weight. Wakes producers once a quarter of the capacity is free.
  void release(std::size_t items, std::size_t weight = 0) noexcept {
    released_weight_.store(released_weight_.load(std::memory_order_relaxed) + weight, std::memory_order_relaxed);
    released_items_.store(released_items_.load(std::memory_order_relaxed) + items);
    if (!blocked_.load()) return;
    const std::size_t limit = max_items_ - 1;
    if (size() > limit - limit / 4 || this->weight() > max_weight_ - max_weight_ / 4) return;
    blocked_.store(false);
    room_epoch_.fetch_add(1);
    futex_wake(room_epoch_);
  }

  // Ends the consumer's wait, the present or the next one, without an item.
  void poke() {
    bool wake = false;
    {
      std::lock_guard guard(lock_);
      poked_ = true;
      wake = rouse();
    }
    if (wake) futex_wake(asleep_, 1);
  }
  // Nothing enters any more; ends all waits. What is queued can still be drained.
  void close() {
    bool wake = false;
    {
      std::lock_guard guard(lock_);
      closed_ = true;
      wake = rouse();
    }
    room_epoch_.fetch_add(1);
    futex_wake(room_epoch_);
    if (wake) futex_wake(asleep_, 1);
  }

  // Items, and their weight, pushed and not yet released; of any thread: a moment ago.
  std::size_t size() const noexcept {
    const std::size_t released = released_items_.load();
    return pushed_items_.load(std::memory_order_relaxed) - released;
  }
  std::size_t weight() const noexcept {
    const std::size_t released = released_weight_.load();
    return pushed_weight_.load(std::memory_order_relaxed) - released;
  }

 private:
  enum class Outcome { closed, full, pushed, pushed_to_sleeper };

  Outcome try_push(std::span<T> items, std::size_t weight) {
    std::lock_guard guard(lock_);
    if (closed_) return Outcome::closed;
    if (is_full(weight)) {
      blocked_.store(true);  // before the second look: release() looks at it after it has made room
      if (is_full(weight)) return Outcome::full;
    }
    return append(items, weight) ? Outcome::pushed_to_sleeper : Outcome::pushed;
  }

  bool is_full(std::size_t added) const noexcept {
    if (size() >= max_items_) return true;
    const std::size_t now = weight();
    return now > 0 && added > 0 && now + added > max_weight_;
  }

  // With the lock held. Whether the consumer must be woken.
  bool append(std::span<T> items, std::size_t weight) {
    queued_.insert(queued_.end(), std::make_move_iterator(items.begin()), std::make_move_iterator(items.end()));
    pushed_items_.store(pushed_items_.load(std::memory_order_relaxed) + items.size(), std::memory_order_relaxed);
    pushed_weight_.store(pushed_weight_.load(std::memory_order_relaxed) + weight, std::memory_order_relaxed);
    return rouse();
  }
  bool rouse() noexcept {
    ready_.store(true, std::memory_order_relaxed);
    if (asleep_.load(std::memory_order_relaxed) == 0) return false;
    asleep_.store(0, std::memory_order_relaxed);
    return true;
  }

  void spin() const noexcept {
    if (ready_.load(std::memory_order_relaxed) || spin_ns_ == 0) return;
    const std::uint64_t until = now_ns() + spin_ns_;
    do {
      for (int i = 0; i < 16; ++i) {
        if (ready_.load(std::memory_order_relaxed)) return;
        spin_pause();
      }
    } while (now_ns() < until);
  }

  const std::size_t max_items_, max_weight_;
  const std::uint64_t spin_ns_;

  // Of the producers.
  alignas(64) BriefLock lock_;
  bool closed_ = false, poked_ = false;  // under the lock, as is queued_
  std::vector<T> queued_;
  std::atomic<std::size_t> pushed_items_{0}, pushed_weight_{0};  // written under the lock
  std::atomic<bool> ready_{false};                               // there is something for the consumer
  std::atomic<std::uint32_t> asleep_{0};                         // the consumer sleeps on it while it is 1
  // Of the consumer.
  alignas(64) std::atomic<std::size_t> released_items_{0};
  std::atomic<std::size_t> released_weight_{0};
  std::atomic<bool> blocked_{false};           // a producer waits for room
  std::atomic<std::uint32_t> room_epoch_{0};   // and sleeps on this
};

}  // namespace regrow
