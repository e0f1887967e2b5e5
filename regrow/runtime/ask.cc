// SPDX-License-Identifier: Apache-2.0
// Calls that ask the worker something, or have it move a tensor.
#include "regrow/base/log.h"
#include "regrow/runtime/core.h"

namespace regrow {

using runtime::Waiter;

// A command about one tensor, with a waiter; not yet committed.
Channel::Core::Command& Channel::Core::ask(Kind kind, Slot& slot, Waiter& waiter, Site site) {
  Command& command = stream_.buffer.begin(kind, site);
  command.waiter = &waiter;
  command.device = slot.desc.device.index;
  command.inputs.push_back(slot.index);
  name(slot, command);
  return command;
}

void Channel::Core::finish_question(Lock& lock, Waiter& waiter, const Command& command) {
  const Kind kind = command.kind;
  const std::uint64_t id = command.id;
  commit(command);
  leave(lock, true);
  wait_for(waiter, kind, id);
  if (waiter.error) std::rethrow_exception(waiter.error);
}

// A shape that only the worker could know, unless the tensor is gone meanwhile.
void Channel::Core::learn(Handle handle, const Desc& desc) {
  const Lock lock(stream_.mutex);
  Slot* slot = slots_.find(handle);
  if (slot && !slots_[slot->target].desc.known) slots_[slot->target].desc = desc;
}

Desc Channel::Core::desc(Handle handle, Site site, bool shape_too) {
  Lock lock = enter(site);
  Slot& slot = slots_.tensor(handle, site);
  if (slot.desc.known || !shape_too) return slot.desc;
  Waiter waiter;
  finish_question(lock, waiter, ask(Kind::settle, slot, waiter, site));
  learn(handle, waiter.descs.at(0));
  return waiter.descs.at(0);
}

HostArray Channel::Core::value(Handle handle, Site site) {
  Lock lock = enter(site);
  Slot& slot = slots_.tensor(handle, site);
  if (slot.has_host) return slot.host;
  Waiter waiter;
  HostArray value;
  const bool known = slot.desc.known;
  if (known) value = HostArray::uninitialized(slot.desc.dtype, slot.desc.shape, &waiter.destination);
  finish_question(lock, waiter, ask(Kind::read, slot, waiter, site));
  if (known) return value;
  learn(handle, waiter.descs.at(0));
  return std::move(waiter.value);
}

DeviceTensor Channel::Core::dev_tensor(Handle handle, Site site) {
  Lock lock = enter(site);
  Slot& slot = slots_.tensor(handle, site);
  if (!slot.on_worker) materialize(slot, site);
  Waiter waiter;
  finish_question(lock, waiter, ask(Kind::hand_out, slot, waiter, site));
  learn(handle, waiter.tensor.desc());
  return std::move(waiter.tensor);
}

bool Channel::Core::host_value(Handle handle, HostArray& value) {
  const Lock lock = enter({});
  const Slot& slot = slots_.tensor(handle, {});
  if (slot.has_host) value = slot.host;
  return slot.has_host;
}

void Channel::Core::wait(Handle handle, Site site) {
  Lock lock = enter(site);
  Slot& slot = slots_.tensor(handle, site);
  if (!slot.on_worker) return;
  Waiter waiter;
  finish_question(lock, waiter, ask(Kind::settle, slot, waiter, site));
  learn(handle, waiter.descs.at(0));
}

// drop, swap_out, swap_in.
void Channel::Core::move(Kind kind, Handle handle, bool force, Site site) {
  Lock lock = enter_with_room(site);
  Slot& slot = slots_.tensor(handle, site);
  const bool is_drop = kind == Kind::drop;
  if (!force && !(is_drop ? options_.enable_drop : options_.enable_swap)) {
    bool& warned = is_drop ? warned_drop_ : warned_swap_;
    const bool first = !std::exchange(warned, true);
    lock.unlock();
    if (first) log().warn("{} is ignored unless the option {} is 1", name_of(kind), is_drop ? "enable_drop" : "enable_swap");
    return;
  }
  if (!slot.on_worker) return;
  Waiter waiter;
  const bool waits = options_.async_level == 0;
  Command& command = ask(kind, slot, waiter, site);
  if (waits) return finish_question(lock, waiter, command);
  command.waiter = nullptr;
  commit(command);
  leave(lock, false);
}

MemoryReport Channel::Core::memory(Device device, Site site) {
  Lock lock = enter(site);
  Waiter waiter;
  Command& command = stream_.buffer.begin(Kind::report, site);
  command.waiter = &waiter;
  command.device = device.index;
  constants_.idle(slots_, command.inputs);
  finish_question(lock, waiter, command);
  return waiter.report;
}

void Channel::Core::reset_peak(Device device) {
  Lock lock = enter({});
  Waiter waiter;
  Command& command = stream_.buffer.begin(Kind::reset_peak, {});
  command.waiter = &waiter;
  command.device = device.index;
  finish_question(lock, waiter, command);
}

void Channel::Core::set_budget(std::size_t bytes, Device device, Site site) {
  Lock lock = enter(site);
  auto any = [this] { return std::find_if(budgets_.begin(), budgets_.end(), [](std::size_t b) { return b != 0; }) != budgets_.end(); };
  const std::size_t old = std::exchange(budgets_[device.index], bytes);
  if (bytes != 0) stream_.window_is_held = true;
  Waiter waiter;
  Command& command = stream_.buffer.begin(Kind::set_budget, site);
  command.waiter = &waiter;
  command.device = device.index;
  command.value = bytes;
  try {
    finish_question(lock, waiter, command);
  } catch (...) {
    const Lock again(stream_.mutex);
    budgets_[device.index] = old;
    stream_.window_is_held = any();
    throw;
  }
  {
    const Lock again(stream_.mutex);
    stream_.window_is_held = any();
  }
  stream_.wake_worker();  // others may have issued meanwhile
}

void Channel::Core::set_spill(std::unique_ptr<memory::SpillStore> store, Site site) {
  Lock lock = enter(site);
  Waiter waiter;
  Command& command = stream_.buffer.begin(Kind::set_spill, site);
  command.waiter = &waiter;
  command.spill = std::move(store);
  finish_question(lock, waiter, command);
}

void Channel::Core::sync(Site site) {
  Lock lock = enter(site);
  Waiter waiter;
  Command& command = stream_.buffer.begin(Kind::sync, site);
  command.waiter = &waiter;
  finish_question(lock, waiter, command);
}

}  // namespace regrow
