// SPDX-License-Identifier: Apache-2.0
// A policy with a clock at its side: how long each choice of a victim took, and all that the policy does, by a sample. Worker
// only.
#pragma once

#include <array>
#include <bit>
#include <memory>

#include "regrow/base/clock.h"
#include "regrow/machine/policy.h"

namespace regrow::runtime {

// Nanoseconds, in buckets of an eighth of a power of two.
class Durations {
 public:
  void add(std::uint64_t ns) noexcept {
    const int power = ns < 8 ? 3 : std::bit_width(ns) - 1;
    const auto eighth = static_cast<int>((ns >> (power - 3)) & 7);
    ++counts_[static_cast<std::size_t>(power * 8 + eighth)];
    ++total_;
  }
  std::uint64_t count() const noexcept { return total_; }
  // In microseconds: the lower end of the bucket that the share of all reaches. 0 where there is none.
  double quantile_us(double share) const noexcept {
    const double rank = share * static_cast<double>(total_);
    double passed = 0;
    for (std::size_t i = 0; i < counts_.size() && total_ > 0; ++i) {
      passed += static_cast<double>(counts_[i]);
      if (passed >= rank && counts_[i] > 0) return 1e-3 * static_cast<double>((std::uint64_t{8} + i % 8) << (i / 8)) / 8;
    }
    return 0;
  }

 private:
  std::array<std::uint64_t, 512> counts_{};
  std::uint64_t total_ = 0;
};

class MeteredPolicy final : public machine::Policy {
 public:
  using StorageId = machine::StorageId;
  explicit MeteredPolicy(std::unique_ptr<machine::Policy> policy) : policy_(std::move(policy)) {}

  machine::Policy& policy() noexcept { return *policy_; }
  const Durations& choices() const noexcept { return choices_; }
  double seconds() const noexcept { return 1e-9 * static_cast<double>(ns_); }  // of all calls, as the sample has it

  void attach(const machine::Graph& graph) override {
    const Timer timer(*this, true);
    policy_->attach(graph);
  }
  // Of an operation and what follows it, all calls are timed, or none.
  void issued(std::uint64_t key, std::span<const StorageId> inputs, std::span<const StorageId> outputs) override {
    sampled_ = operations_++ % one_in == 0;
    const Timer timer(*this);
    policy_->issued(key, inputs, outputs);
  }
  double ran(std::uint64_t key, double seconds, bool regrow) override {
    const Timer timer(*this);
    return policy_->ran(key, seconds, regrow);
  }
  void entered(StorageId id) override {
    const Timer timer(*this);
    policy_->entered(id);
  }
  void left(StorageId id) override {
    const Timer timer(*this);
    policy_->left(id);
  }
  void used(StorageId id) override {
    const Timer timer(*this);
    policy_->used(id);
  }
  void erased(StorageId id) override {
    const Timer timer(*this);
    policy_->erased(id);
  }
  StorageId victim(std::uint8_t device, std::size_t bytes) override {
    const std::uint64_t begin = now_ns();
    const StorageId id = policy_->victim(device, bytes);
    const std::uint64_t took = now_ns() - begin;
    choices_.add(took);
    ns_ += took;
    return id;
  }
  StorageId next_to_write(std::uint8_t device, std::size_t bytes) override {
    const Timer timer(*this);
    return policy_->next_to_write(device, bytes);
  }
  bool prefers_writing(StorageId id) override {
    const Timer timer(*this);
    return policy_->prefers_writing(id);
  }
  void moved(std::size_t bytes, double seconds, bool written) override { policy_->moved(bytes, seconds, written); }
  bool expects_use(StorageId id) override {
    const Timer timer(*this);
    return policy_->expects_use(id);
  }

 private:
  static constexpr std::uint64_t one_in = 32;

  class Timer {
   public:
    explicit Timer(MeteredPolicy& owner, bool always = false)
        : owner_(always || owner.sampled_ ? &owner : nullptr), weight_(always ? 1 : one_in), begin_(owner_ ? now_ns() : 0) {}
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;
    ~Timer() {
      if (owner_) owner_->ns_ += (now_ns() - begin_) * weight_;
    }

   private:
    MeteredPolicy* owner_;
    std::uint64_t weight_, begin_;
  };

  std::unique_ptr<machine::Policy> policy_;
  Durations choices_;
  std::uint64_t ns_ = 0, operations_ = 0;
  bool sampled_ = false;
};

}  // namespace regrow::runtime
