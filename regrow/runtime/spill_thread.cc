// SPDX-License-Identifier: Apache-2.0
#include "regrow/runtime/spill_thread.h"

#include <utility>

#include "regrow/base/clock.h"

namespace regrow::runtime {

template <class T>
void SpillThread::Ring<T>::push(T&& item) noexcept {
  const std::uint32_t at = pushed.load(std::memory_order_relaxed);
  for (;;) {
    const std::uint32_t seen = popped.load(std::memory_order_acquire);
    if (at - seen < capacity) break;
    futex_wait(popped, seen);
  }
  items[at % capacity] = std::move(item);
  pushed.store(at + 1, std::memory_order_release);
  futex_wake_one(pushed);
}

template <class T>
bool SpillThread::Ring<T>::pop(T& item) noexcept {
  const std::uint32_t at = popped.load(std::memory_order_relaxed);
  if (pushed.load(std::memory_order_acquire) == at) return false;
  item = std::exchange(items[at % capacity], {});
  popped.store(at + 1, std::memory_order_release);
  futex_wake_one(popped);
  return true;
}

template <class T>
void SpillThread::Ring<T>::await() const noexcept {
  const std::uint32_t at = popped.load(std::memory_order_relaxed);
  while (pushed.load(std::memory_order_acquire) == at) futex_wait(pushed, at);
}

SpillThread::SpillThread(std::unique_ptr<memory::SpillStore> store)
    : store_(std::move(store)), written_(store_->written()), thread_([this] { run(); }) {}

SpillThread::~SpillThread() {
  if (thread_.joinable()) stop();
}

void SpillThread::post(const Request& request) noexcept {
  if (request.kind == Request::Kind::write || request.kind == Request::Kind::read) ++under_way_;
  requests_.push(Request(request));
}

bool SpillThread::poll(Result& result) {
  if (under_way_ == 0 || !results_.pop(result)) return false;
  --under_way_;
  return true;
}

SpillThread::Result SpillThread::wait() {
  Result result;
  results_.await();
  poll(result);
  return result;
}

std::unique_ptr<memory::SpillStore> SpillThread::stop() {
  requests_.push({.kind = Request::Kind::stop});
  thread_.join();
  return std::move(store_);
}

void SpillThread::run() {
  for (;;) {
    Request request;
    requests_.await();
    requests_.pop(request);
    if (request.kind == Request::Kind::stop) return;
    carry_out(request);
  }
}

void SpillThread::carry_out(const Request& request) {
  if (request.kind == Request::Kind::forget) return store_->forget(request.id);
  Result result{.kind = request.kind, .id = request.id};
  const std::uint64_t begin = now_ns();
  try {
    if (request.kind == Request::Kind::write) store_->write(request.id, {request.data, request.bytes});
    else store_->read(request.id, {request.data, request.bytes});
  } catch (...) {
    result.error = std::current_exception();
  }
  result.seconds = 1e-9 * static_cast<double>(now_ns() - begin);
  written_.store(store_->written(), std::memory_order_relaxed);
  results_.push(std::move(result));  // an error has one owner at a time
}

}  // namespace regrow::runtime
