// SPDX-License-Identifier: Apache-2.0
#include "regrow/runtime/core.h"

#include "regrow/base/clock.h"
#include "regrow/base/log.h"

namespace regrow {

using runtime::Waiter;

Channel::Core::Core(const Options& options) : options_(options), born_at_fork_(runtime::fork_count()) { options_.check(); }

void Channel::Core::start() {
  worker_.start(options_, weak_from_this());
  runtime::end_with_process(shared_from_this());
}

void Channel::Core::check_thread(Site site) const {
  if (from_before_fork()) [[unlikely]]
    fail_at(site, "the process was forked: a channel of the parent does not work in the child; make one after the fork");
  if (runtime::inside_callback()) [[unlikely]]
    fail_at(site, "a channel cannot be used from inside a callback or an observer");
}

void Channel::Core::check_open(Lock& lock, Site site) {
  if (stream_.broken.load(std::memory_order_relaxed)) [[unlikely]] {
    stream_.fatal_told = true;
    const std::exception_ptr fatal = stream_.fatal;
    lock.unlock();
    std::rethrow_exception(fatal);
  }
  if (state_.load(std::memory_order_relaxed) != State::open) [[unlikely]] {
    lock.unlock();
    runtime::linger_if_process_is_ending();
    fail_at(site, "the channel is closed");
  }
}

Channel::Core::Lock Channel::Core::enter(Site site) {
  check_thread(site);
  Lock lock(stream_.mutex);
  check_open(lock, site);
  return lock;
}

// While the window is held only what was released counts: a release because of what has run by now would make what runs a matter of
// timing. (Of bytes the window never holds more than half of what may be queued: see leave().)
bool Channel::Core::full() const noexcept {
  const runtime::CommandBuffer& buffer = stream_.buffer;
  const std::uint64_t issued = stream_.window_is_held.load(std::memory_order_relaxed) ? buffer.released() : buffer.committed();
  // Asking the worker how far it is takes its line from it: only when what it last said does not suffice.
  if (issued - known_executed_ >= options_.queue_commands) known_executed_ = buffer.executed();
  return issued - known_executed_ >= options_.queue_commands || stream_.queued_bytes.load() >= options_.queue_bytes;
}

Channel::Core::Lock Channel::Core::enter_with_room(Site site) {
  Lock lock = enter(site);
  while (full()) [[unlikely]] {
    leave(lock, !stream_.window_is_held);
    stream_.throttled.fetch_add(1);
    for (;;) {
      const std::uint32_t seen = stream_.progress.load();
      lock.lock();
      const bool wait = full() && state_.load() == State::open && !stream_.broken;
      lock.unlock();
      if (!wait) break;
      futex_wait(stream_.progress, seen);
    }
    stream_.throttled.fetch_sub(1);
    lock.lock();
    check_open(lock, site);
  }
  return lock;
}

void Channel::Core::commit(const Command& command) noexcept {
  stream_.buffer.commit();
  if (!watch_) [[likely]] return;
  const std::string_view name = command.op ? command.op->name() : name_of(command.kind);
  noted_.push_back({.kind = EventKind::command_queued, .device = command.device, .time_ns = now_ns(), .id = command.id, .name = name});
}

void Channel::Core::leave(Lock& lock, bool flush) noexcept {
  runtime::CommandBuffer& buffer = stream_.buffer;
  bool wake = !stream_.window_is_held.load(std::memory_order_relaxed);
  if (flush || window_bytes_ >= options_.queue_bytes / 2) {
    buffer.release();
    window_bytes_ = 0;
    wake = true;
  } else if (buffer.window() > options_.lookahead) {
    buffer.release((options_.lookahead + 1) / 2);
    wake = true;
  }
  tell_noted(lock);
  if (wake) stream_.wake_worker();
}

// An observer may let tensors go, which takes the mutex.
void Channel::Core::tell_noted(Lock& lock) noexcept {
  if (noted_.empty()) [[likely]] return lock.unlock();
  const std::vector<Event> events = std::exchange(noted_, {});
  Observer* const observer = watch_.registered();  // also of a profile that this call has ended
  lock.unlock();
  for (const Event& event : events)
    if (observer) runtime::deliver(*observer, event);
}

void Channel::Core::wait_for(Waiter& waiter, Kind kind, std::uint64_t id) noexcept {
  watch_.emit({.kind = EventKind::wait_begin, .id = id, .name = name_of(kind)});
  waiter.wait();
  watch_.emit({.kind = EventKind::wait_end, .id = id, .name = name_of(kind)});
}

// Announces the end of what lives on the host alone, and has the worker do the same for the rest.
void Channel::Core::end_profile() {
  if (!watch_.profiling()) return;
  for (const auto& [tensor, desc] : only_here())
    noted_.push_back({.kind = EventKind::tensor_erase, .flag = true, .device = desc.device.index, .time_ns = now_ns(), .tensor = tensor});
  watch_.set_profiling(false);
  commit(stream_.buffer.begin(Kind::stop_profile, {}));
}

// The last reference to a tensor is gone: it is deleted by the last operation that names it, if that still waits in the window.
void Channel::Core::drop_reference(Slot* target) noexcept {
  if (!target) return;
  runtime::CommandBuffer& buffer = stream_.buffer;
  if (!target->on_worker) {
    if (watch_) noted_.push_back({.kind = EventKind::tensor_erase, .device = target->desc.device.index, .time_ns = now_ns(),
                                  .tensor = target->tensor});
  } else if (buffer.open(target->last_use) && target->last_command->kind == Kind::apply) {
    target->last_command->deletes.push_back(target->index);
  } else {
    Command& command = buffer.begin(Kind::del, {});
    command.device = target->desc.device.index;
    command.inputs.push_back(target->index);
    commit(command);
  }
  slots_.free(*target);
}

void Channel::Core::close(Site site) {
  if (from_before_fork()) return;
  if (runtime::inside_callback()) fail_at(site, "a channel cannot be closed from inside a callback or an observer");
  Lock lock(stream_.mutex);
  if (state_.load() != State::open) return;
  state_ = State::closing;
  end_profile();
  constants_.clear(slots_, [&](Slot& slot) {
    if (--slot.references == 0) drop_reference(&slot);
  });
  for (runtime::SlotIndex i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (slot.in_use && slot.target == i && slot.references > 0) drop_reference(&slot);
  }
  Waiter waiter;
  Command& command = stream_.buffer.begin(Kind::stop, site);
  command.waiter = &waiter;
  commit(command);
  leave(lock, true);
  stream_.let_throttled_go();
  waiter.wait();
  worker_.join();
  state_ = State::closed;
  if (waiter.error) std::rethrow_exception(waiter.error);
  if (stream_.broken && !stream_.fatal_told.exchange(true)) std::rethrow_exception(stream_.fatal);
}

void Channel::Core::end() noexcept {
  if (runtime::inside_callback()) return;  // exit() was called by a callback: there is nobody to wait for
  try {
    close({});
  } catch (const std::exception& error) {
    log().error("an error that nobody was told: {}", error.what());
  } catch (...) {
    log().error("an error that nobody was told");
  }
}

void Channel::Core::take_back(machine::StorageId storage) noexcept {
  if (from_before_fork()) return;
  Lock lock(stream_.mutex);
  if (state_.load() != State::open) return;
  Command& command = stream_.buffer.begin(Kind::take_back, {});
  command.value = storage;
  commit(command);
  leave(lock, false);
}

}  // namespace regrow
