// SPDX-License-Identifier: Apache-2.0
// An intrusive reference: a pointer whose target counts its owners in a member `owners` and frees itself in `release(T*)`. Any
// thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace regrow::autograd {

template <class T>
class Shared {
 public:
  Shared() = default;
  static Shared adopt(T* target) noexcept {  // takes over the reference that a new object starts with
    Shared shared;
    shared.target_ = target;
    return shared;
  }
  static Shared of(T* target) noexcept {
    if (target) target->owners.fetch_add(1, std::memory_order_relaxed);
    return adopt(target);
  }
  Shared(const Shared& other) noexcept : target_(other.target_) {
    if (target_) target_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  Shared(Shared&& other) noexcept : target_(std::exchange(other.target_, nullptr)) {}
  Shared& operator=(const Shared& other) noexcept { return *this = Shared(other); }
  Shared& operator=(Shared&& other) noexcept {
    std::swap(target_, other.target_);
    other.reset();
    return *this;
  }
  ~Shared() { reset(); }

  void reset() noexcept {
    T* target = std::exchange(target_, nullptr);
    if (target && target->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) release(target);
  }
  T* get() const noexcept { return target_; }
  T* operator->() const noexcept { return target_; }
  T& operator*() const noexcept { return *target_; }
  explicit operator bool() const noexcept { return target_ != nullptr; }
  friend bool operator==(const Shared& a, const Shared& b) noexcept { return a.target_ == b.target_; }

 private:
  T* target_ = nullptr;
};

}  // namespace regrow::autograd
