// SPDX-License-Identifier: Apache-2.0
// What the process is doing that channels must know of: it was forked, it is ending, this thread runs somebody's callback. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

namespace regrow::runtime {

// How many forks lie between the first process and this one. What was made at another count has lost its threads.
std::uint32_t fork_count() noexcept;

// True while this thread runs a host callback or an observer: it may not issue or wait then.
bool inside_callback() noexcept;

class CallbackScope {
 public:
  CallbackScope() noexcept;
  ~CallbackScope();
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

 private:
  bool outer_;
};

// Whoever has a thread that must not outlive main's statics.
class EndsWithProcess {
 public:
  virtual ~EndsWithProcess() = default;
  // Called by the thread that ends the process. If that is main's, and made a target: before all destructors of static objects; else before
  // those of objects that are older than the target or were made when an operator ran for the first time.
  virtual void end() noexcept = 0;
};

// Remembers it (weakly), so that exit() ends it.
void end_with_process(const std::shared_ptr<EndsWithProcess>& target);
// The first run of an operator on this type in this process may have made static objects (of libraries too): targets end before
// they are destroyed. Any thread.
void operator_has_run(std::uint32_t index, std::uint32_t type);
// True from when exit() began to end targets.
bool process_is_ending() noexcept;
// On a thread other than the one that ends the process: waits up to two seconds for that, so that a thread that nobody joins does not
// die of an exception meanwhile.
void linger_if_process_is_ending() noexcept;

}  // namespace regrow::runtime
