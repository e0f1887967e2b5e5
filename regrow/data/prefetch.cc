// SPDX-License-Identifier: Apache-2.0
#include "regrow/data/prefetch.h"

#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "regrow/base/error.h"

namespace regrow::data {

struct PrefetchQueue::State {
  Make make;
  std::int64_t batches = 0, depth = 0;
  pid_t process = ::getpid();
  std::thread thread;
  std::mutex joining;

  std::mutex mutex;
  std::condition_variable changed;
  Position position;  // of what next() gives
  std::deque<std::shared_ptr<void>> ready;
  std::exception_ptr failure;  // after what is ready
  bool closed = false;

  Position after(Position at) const { return ++at.index == batches ? Position{at.epoch + 1, 0} : at; }
  bool here() const noexcept { return ::getpid() == process; }

  void run() {
    Position at = position;
    for (std::unique_lock lock(mutex);; at = after(at)) {
      changed.wait(lock, [&] { return closed || static_cast<std::int64_t>(ready.size()) < depth; });
      if (closed) return;
      lock.unlock();
      std::shared_ptr<void> batch;
      std::exception_ptr thrown;
      try {
        batch = make(at);
      } catch (...) {
        thrown = std::current_exception();
      }
      lock.lock();
      if (thrown)
        failure = thrown;
      else
        ready.push_back(std::move(batch));
      changed.notify_all();
      if (thrown) return;
    }
  }
};

PrefetchQueue::PrefetchQueue(Make make, std::int64_t batches, const PrefetchOptions& options, Site site)
    : state_(std::make_shared<State>()) {
  if (batches < 1) fail_at(site, "prefetch: an epoch has no batches");
  if (options.depth < 1) fail_at(site, "prefetch: the depth must be at least 1, not {}", options.depth);
  if (options.at.epoch < 0 || options.at.index < 0 || options.at.index >= batches)
    fail_at(site, "prefetch: there is no batch {} in epoch {}: {} in each", options.at.index, options.at.epoch, batches);
  state_->make = std::move(make);
  state_->batches = batches;
  state_->depth = options.depth;
  state_->position = options.at;
  state_->thread = std::thread([state = state_.get()] { state->run(); });
}

PrefetchQueue::~PrefetchQueue() {
  if (!state_) return;
  if (state_->here()) {
    close();
    return;
  }
  // The thread stayed in the parent, perhaps with the mutex: what it used is left as it is.
  static_cast<void>(new std::shared_ptr<State>(std::move(state_)));
}

std::shared_ptr<void> PrefetchQueue::next(Site site) {
  State& state = *state_;
  if (!state.here()) fail_at(site, "prefetch: the process was forked: its thread did not come along");
  std::unique_lock lock(state.mutex);
  state.changed.wait(lock, [&] { return state.closed || !state.ready.empty() || state.failure; });
  if (state.closed) fail_at(site, "prefetch: closed");
  if (state.ready.empty()) std::rethrow_exception(state.failure);
  std::shared_ptr<void> batch = std::move(state.ready.front());
  state.ready.pop_front();
  state.position = state.after(state.position);
  lock.unlock();
  state.changed.notify_all();
  return batch;
}

Position PrefetchQueue::position() const {
  if (!state_->here()) return state_->position;
  const std::lock_guard lock(state_->mutex);
  return state_->position;
}

void PrefetchQueue::close() noexcept {
  State& state = *state_;
  if (!state.here()) return;
  {
    const std::lock_guard lock(state.mutex);
    state.closed = true;
    state.ready.clear();
  }
  state.changed.notify_all();
  if (state.thread.get_id() == std::this_thread::get_id()) return;  // from inside `make`
  const std::lock_guard lock(state.joining);
  if (state.thread.joinable()) state.thread.join();
}

}  // namespace regrow::data
