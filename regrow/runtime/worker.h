// SPDX-License-Identifier: Apache-2.0
// The thread that runs a channel's commands in order. It looks for work for 0.4 ms before it sleeps, takes the window when the callers
// have gone quiet, and survives whatever an operation throws.
#pragma once

#include <memory>
#include <thread>

#include "regrow/runtime/executor.h"
#include "regrow/runtime/stream.h"

namespace regrow::runtime {

class Worker {
 public:
  explicit Worker(Stream& stream) : stream_(stream) {}
  ~Worker();  // in the child of a fork the thread does not exist: it is forgotten, not joined

  void start(const Options& options, std::weak_ptr<Returns> returns);
  void join();  // after a `stop` command

 private:
  void run();
  bool step();  // false: it was `stop`
  void wait_for_work();
  void take_window();
  bool has_work() const noexcept;
  void die(std::exception_ptr cause) noexcept;
  void discard(Command& command) noexcept;

  Stream& stream_;
  std::unique_ptr<Executor> executor_;
  std::uint64_t executed_ = 0;
  std::uint32_t born_at_fork_ = 0;
  std::thread* thread_ = nullptr;
};

}  // namespace regrow::runtime
