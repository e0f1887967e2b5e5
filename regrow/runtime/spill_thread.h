// SPDX-License-Identifier: Apache-2.0
// The thread that owns a spill store: the worker posts what it wants done, the thread does it in that order and posts what came of it.
// All members are the worker's; the bytes of a request belong to the thread until its result has been taken.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>

#include "regrow/base/futex.h"
#include "regrow/memory/spill_store.h"

namespace regrow::runtime {

class SpillThread {
 public:
  using Id = memory::Store::Id;
  struct Request {
    enum class Kind : std::uint8_t { write, read, forget, stop };
    Kind kind = Kind::stop;
    Id id = 0;
    std::byte* data = nullptr;
    std::size_t bytes = 0;
  };
  // Of a write or a read; others have none.
  struct Result {
    Request::Kind kind = Request::Kind::stop;
    Id id = 0;
    double seconds = 0;
    std::exception_ptr error = nullptr;
  };

  explicit SpillThread(std::unique_ptr<memory::SpillStore> store);
  ~SpillThread();
  SpillThread(const SpillThread&) = delete;
  SpillThread& operator=(const SpillThread&) = delete;

  void post(const Request& request) noexcept;
  std::uint32_t under_way() const noexcept { return under_way_; }  // writes and reads whose results have not been taken
  bool poll(Result& result);
  Result wait();  // for the next one; requires that something is under way
  std::uint64_t written() const noexcept { return written_.load(std::memory_order_relaxed); }
  // Does what has been posted, ends the thread and hands the store out. Results that were not taken are lost.
  std::unique_ptr<memory::SpillStore> stop();

 private:
  static constexpr std::uint32_t capacity = 256;
  // One side pushes, the other pops, each sleeps on the other's counter.
  template <class T>
  struct Ring {
    std::array<T, capacity> items;
    FutexWord pushed{0}, popped{0};

    void push(T&& item) noexcept;
    bool pop(T& item) noexcept;
    void await() const noexcept;  // until there is one
  };

  void run();
  void carry_out(const Request& request);

  std::unique_ptr<memory::SpillStore> store_;  // the thread's, while it runs
  Ring<Request> requests_;
  Ring<Result> results_;
  std::atomic<std::uint64_t> written_{0};
  std::uint32_t under_way_ = 0;
  std::thread thread_;
};

}  // namespace regrow::runtime
