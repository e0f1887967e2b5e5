// SPDX-License-Identifier: Apache-2.0
#include "regrow/runtime/worker.h"

#include <fmt/format.h>

#include "regrow/base/clock.h"
#include "regrow/base/error.h"
#include "regrow/runtime/pause.h"
#include "regrow/runtime/process.h"

namespace regrow::runtime {
namespace {

constexpr std::uint64_t spin_ns = 400'000;  // a sleeper takes 15 to 60 us to wake
constexpr std::uint64_t quiet_ns = 2'000;  // without a new command: the callers are elsewhere
constexpr int spins_a_look = 16;           // at the clock
constexpr std::uint64_t progress_steps = 64;

// What every call throws from now on. There may be no memory to say more than what happened.
std::exception_ptr failure_of_worker(const std::exception_ptr& cause, Site site) noexcept {
  try {
    std::string text = "an unknown exception";
    try {
      std::rethrow_exception(cause);
    } catch (const std::exception& error) {
      text = error.what();
    } catch (...) {
    }
    return Failure{.message = fmt::format("the worker failed: {}", text), .site = site, .cause = cause}.thrown();
  } catch (...) {
    return cause;
  }
}

}  // namespace

void Worker::start(const Options& options, std::weak_ptr<Returns> returns) {
  executor_ = std::make_unique<Executor>(options, std::move(returns));
  born_at_fork_ = fork_count();
  thread_ = new std::thread([this] { run(); });
}

Worker::~Worker() {
  if (born_at_fork_ != fork_count()) return;  // its memory, too, is whatever it was at the fork
  join();
}

void Worker::join() {
  if (!thread_) return;
  thread_->join();
  delete thread_;
  thread_ = nullptr;
}

void Worker::run() {
  for (;;) {
    while (stream_.buffer.released() == executed_) wait_for_work();
    if (!step()) break;
  }
  try {
    executor_.reset();
  } catch (...) {
    // What is left of a machine that has failed.
  }
}

bool Worker::step() {
  const CommandBuffer::Cursor head = stream_.buffer.head();
  const bool last = head->kind == Command::Kind::stop;
  std::size_t commands = 1;
  if (stream_.broken.load(std::memory_order_relaxed)) {
    discard(*head);
  } else {
    try {
      commands = executor_->execute(head);
      if (auto fatal = executor_->fatal()) die(std::move(fatal));
    } catch (...) {
      die(failure_of_worker(std::current_exception(), head->site));
      discard(*head);
    }
  }
  if (head->has_host) {
    stream_.queued_bytes.fetch_sub(head->host.bytes());
    stream_.failed_puts.store(executor_->failed_puts(), std::memory_order_relaxed);
  }
  const bool freed_bytes = head->has_host;
  stream_.buffer.pop(commands);
  executed_ += commands;
  if (freed_bytes || executed_ % progress_steps < commands) stream_.let_throttled_go();
  return !last;
}

bool Worker::has_work() const noexcept {
  return stream_.buffer.released() > executed_ || (!stream_.window_is_held && stream_.buffer.committed() > executed_);
}

void Worker::take_window() {
  const std::unique_lock lock(stream_.mutex, std::try_to_lock);
  if (lock && !stream_.window_is_held) stream_.buffer.release();
}

void Worker::wait_for_work() {
  if (executor_) executor_->idle();
  stream_.let_throttled_go();
  std::uint64_t seen = stream_.buffer.committed();
  std::uint64_t now = now_ns(), looked = now;
  const std::uint64_t begun = now;
  while (now - begun < spin_ns) {
    for (int spin = 0; spin < spins_a_look; ++spin) {
      if (stream_.buffer.released() > executed_) return;
      pause();
    }
    now = now_ns();
    if (now - looked < quiet_ns) continue;
    looked = now;
    // Looking takes the callers' line from them.
    const std::uint64_t committed = stream_.buffer.committed();
    if (committed == seen && committed > executed_ && !stream_.window_is_held) take_window();
    seen = committed;
  }
  stream_.sleeping.store(1, std::memory_order_seq_cst);
  while (stream_.sleeping.load() == 1 && !has_work()) futex_wait(stream_.sleeping, 1);
  stream_.sleeping.store(0);
  if (stream_.buffer.released() == executed_ && has_work()) take_window();
}

// From here on every call throws; what is in the queue is answered and thrown away.
void Worker::die(std::exception_ptr cause) noexcept {
  {
    const std::lock_guard lock(stream_.mutex);
    stream_.fatal = std::move(cause);
    stream_.broken = true;
  }
  stream_.let_throttled_go();
}

void Worker::discard(Command& command) noexcept {
  command.planning.reset();  // who waits for it is told
  if (!command.waiter) return;
  if (command.kind != Command::Kind::stop) command.waiter->error = stream_.fatal, stream_.fatal_told = true;
  command.waiter->finish();
  command.waiter = nullptr;
}

}  // namespace regrow::runtime
