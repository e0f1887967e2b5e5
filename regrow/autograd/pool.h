// SPDX-License-Identifier: Apache-2.0
// Recycles the memory of small objects of one type, so that recording and releasing an operation costs no malloc. Any thread:
// each has its own list, and an object may be released by another thread than the one that made it.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace regrow::autograd {

template <class T>
class Pool {
 public:
  template <class... A>
  static T* make(A&&... args) {
    return std::construct_at(static_cast<T*>(take()), std::forward<A>(args)...);
  }

  static void recycle(T* object) noexcept {
    std::destroy_at(object);
    if (count_ >= limit) return ::operator delete(object);
    if (count_ == 0) head_ = nullptr;
    head_ = std::construct_at(reinterpret_cast<Free*>(object), Free{head_});
    ++count_;
  }

 private:
  struct Free {
    Free* next;
  };
  // Gives the list back when its thread ends; afterwards (static destructors) objects go straight to the heap.
  struct Reaper {
    ~Reaper() {
      for (Free* free = std::exchange(head_, nullptr); free;) ::operator delete(std::exchange(free, free->next));
      count_ = limit;
    }
  };
  static constexpr std::size_t limit = 1 << 14;

  static void* take() {
    if (!head_) {
      static thread_local Reaper reaper;
      static_cast<void>(reaper);
      return ::operator new(sizeof(T));
    }
    --count_;
    return std::exchange(head_, head_->next);
  }

  static_assert(sizeof(T) >= sizeof(Free) && alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  static inline constinit thread_local Free* head_ = nullptr;
  static inline constinit thread_local std::size_t count_ = 0;
};

}  // namespace regrow::autograd
