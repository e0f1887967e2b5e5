// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/parallel.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "regrow/base/error.h"

namespace regrow::kernels {
namespace {

// Pieces a thread takes on average: more than one, so that a late starter does not hold up the rest.
constexpr std::int64_t pieces_per_thread = 4;

struct Loop {
  void (*body)(void*, std::int64_t, std::int64_t);
  void* context;
  std::int64_t count;
  std::int64_t piece;
  std::atomic<std::int64_t> next{0};

  void run() {
    for (;;) {
      const std::int64_t begin = next.fetch_add(piece, std::memory_order_relaxed);
      if (begin >= count) return;
      body(context, begin, std::min(begin + piece, count));
    }
  }
};

thread_local bool inside_loop = false;
std::atomic<bool> forked{false};  // a child has none of the threads: it computes alone

int usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return std::max(1, CPU_COUNT(&set));
}

class Pool {
 public:
  // Never destroyed: threads of the program may compute until the very end of the process.
  static Pool& instance() {
    static Pool& pool = *new Pool;
    return pool;
  }

  int threads() const noexcept { return threads_.load(std::memory_order_relaxed); }

  void resize(int threads) {
    require(threads >= 1, "a kernel needs at least one thread, not {}", threads);
    if (forked.load(std::memory_order_relaxed)) {
      threads_.store(threads, std::memory_order_relaxed);
      return;
    }
    const std::scoped_lock owner(owner_);
    stop();
    threads_.store(threads, std::memory_order_relaxed);
  }

  // False: somebody else's loop runs.
  bool run(Loop& loop) {
    const std::unique_lock owner(owner_, std::try_to_lock);
    if (!owner) return false;
    start();
    {
      const std::scoped_lock lock(mutex_);
      loop_ = &loop;
      ++generation_;
    }
    wake_.notify_all();
    inside_loop = true;
    loop.run();
    inside_loop = false;
    std::unique_lock lock(mutex_);
    loop_ = nullptr;
    done_.wait(lock, [this] { return active_ == 0; });
    return true;
  }

 private:
  Pool() : threads_(usable_processors()) {
    pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
  }

  void start() {
    const int wanted = threads() - 1;
    while (static_cast<int>(helpers_.size()) < wanted) helpers_.emplace_back([this] { work(); });
  }

  void stop() {
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& helper : helpers_) helper.join();
    helpers_.clear();
    const std::scoped_lock lock(mutex_);
    stopping_ = false;
  }

  void work() {
    inside_loop = true;
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return stopping_ || (loop_ && generation_ != seen); });
      if (stopping_) return;
      seen = generation_;
      Loop& loop = *loop_;
      ++active_;
      lock.unlock();
      loop.run();
      lock.lock();
      if (--active_ == 0) done_.notify_one();
    }
  }

  std::mutex owner_;  // held by the thread whose loop runs
  std::atomic<int> threads_;
  std::vector<std::thread> helpers_;  // under owner_

  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_, done_;
  Loop* loop_ = nullptr;
  std::uint64_t generation_ = 0;
  int active_ = 0;
  bool stopping_ = false;
};

}  // namespace

void set_kernel_threads(int threads) { Pool::instance().resize(threads); }
int kernel_threads() noexcept { return Pool::instance().threads(); }

void parallel_for(std::int64_t count, std::int64_t grain, void (*body)(void*, std::int64_t, std::int64_t), void* context) {
  if (count <= 0) return;
  const std::int64_t threads = kernel_threads();
  grain = std::max<std::int64_t>(grain, 1);
  if (threads > 1 && count > grain && !inside_loop && !forked.load(std::memory_order_relaxed)) {
    const std::int64_t share = (count + threads * pieces_per_thread - 1) / (threads * pieces_per_thread);
    Loop loop{body, context, count, (share + grain - 1) / grain * grain};
    if (Pool::instance().run(loop)) return;
  }
  body(context, 0, count);
}

}  // namespace regrow::kernels
