// SPDX-License-Identifier: Apache-2.0
// Random state, options, observation: what a channel remembers beside tensors.
#include <fmt/format.h>

#include "regrow/runtime/core.h"

namespace regrow {

using runtime::Waiter;

RandomState Channel::Core::random_state() {
  const Lock lock = enter({});
  return random_;
}

void Channel::Core::set_random_state(RandomState state) {
  const Lock lock = enter({});
  random_ = state;
}

RandomState Channel::Core::next_random() {
  const Lock lock = enter({});
  const RandomState taken = random_;
  ++random_.counter;
  return taken;
}

void Channel::Core::set_option(std::string_view name, std::size_t value, Site site) {
  Lock lock = enter(site);
  try {
    options_.set(name, value);
  } catch (const Error& error) {
    throw Error(error.message(), site);
  }
  Command& command = stream_.buffer.begin(Kind::set_option, site);
  for (const OptionSpec& spec : option_specs())
    if (spec.name == name) command.member = spec.member;
  command.value = value;
  commit(command);
  leave(lock, false);
}

void Channel::Core::set_option(std::string_view name, std::string_view value, Site site) {
  Options parsed;
  try {
    parsed.set(name, value);
  } catch (const Error& error) {
    throw Error(error.message(), site);
  }
  set_option(name, parsed.get(name), site);
}

std::size_t Channel::Core::get_option(std::string_view name, Site site) {
  const Lock lock = enter(site);
  try {
    return options_.get(name);
  } catch (const Error& error) {
    throw Error(error.message(), site);
  }
}

// The window closes, so that each step has its operations fused alike: else few would be taken for repetitions.
void Channel::Core::end_step() {
  Lock lock = enter({});
  commit(stream_.buffer.begin(Kind::end_step, {}));
  leave(lock, true);
}

void Channel::Core::record_step(StepWanted wanted, StepTaker taker, Site site) {
  auto planning = std::make_unique<runtime::Planning>();
  planning->wanted = wanted;
  planning->taker = std::move(taker);
  Lock lock = enter(site);
  Command& command = stream_.buffer.begin(Kind::record_step, site);
  command.planning = std::move(planning);
  commit(command);
  leave(lock, false);
}

void Channel::Core::tune(const PolicyTuning& tuning, Site site) {
  auto planning = std::make_unique<runtime::Planning>();
  planning->tuning = tuning;
  Lock lock = enter(site);
  Command& command = stream_.buffer.begin(Kind::tune, site);
  command.planning = std::move(planning);
  commit(command);
  leave(lock, false);
}

// Waits until the worker has let go of the old observer, so that it may be destroyed afterwards.
void Channel::Core::observe(Observer* observer) {
  Lock lock = enter({});
  watch_.observe(observer);
  Waiter waiter;
  Command& command = stream_.buffer.begin(Kind::observe, {});
  command.observer = observer;
  command.waiter = &waiter;
  finish_question(lock, waiter, command);
}

// Tensors that the worker does not know, while somebody watches.
std::vector<std::pair<std::uint64_t, Desc>> Channel::Core::only_here() {
  std::vector<std::pair<std::uint64_t, Desc>> found;
  for (runtime::SlotIndex i = 0; watch_ && i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (slot.in_use && slot.target == i && !slot.on_worker) found.emplace_back(slot.tensor, slot.desc);
  }
  return found;
}

void Channel::Core::start_profile() {
  Lock lock = enter({});
  if (watch_.profiling()) return;
  watch_.set_profiling(true);
  const auto on_host = only_here();
  lock.unlock();
  watch_.emit({.kind = EventKind::profile_begin});  // before the worker can announce anything
  lock = enter({});
  commit(stream_.buffer.begin(Kind::start_profile, {}));
  leave(lock, false);
  for (const auto& [tensor, desc] : on_host)
    watch_.emit({.kind = EventKind::tensor_declare, .flag = true, .device = desc.device.index, .tensor = tensor, .name = "host",
                 .detail = "host", .desc = &desc});
}

void Channel::Core::stop_profile() {
  Lock lock = enter({});
  end_profile();
  leave(lock, false);
}

void Channel::Core::push_scope(std::string_view name) {
  Lock lock = enter({});
  scopes_.emplace_back(name);
  lock.unlock();
  watch_.emit({.kind = EventKind::scope_begin, .name = name});
}

void Channel::Core::pop_scope(std::string_view name, Site site) {
  Lock lock = enter(site);
  if (scopes_.empty()) fail_at(site, "pop_scope: '{}' is not open: no scope is", name);
  if (scopes_.back() != name) fail_at(site, "pop_scope: '{}' is not the innermost scope, which is '{}'", name, scopes_.back());
  scopes_.pop_back();
  lock.unlock();
  watch_.emit({.kind = EventKind::scope_end, .name = name});
}

void Channel::Core::mark(std::string_view text) {
  Lock lock = enter({});
  lock.unlock();
  watch_.emit({.kind = EventKind::mark, .name = text});
}

}  // namespace regrow
