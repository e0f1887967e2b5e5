// SPDX-License-Identifier: Apache-2.0
// Commands on single storages, and budgets.
#include <algorithm>

#include "regrow/machine/state.h"

namespace regrow::machine {

void Machine::State::put(Slot slot, std::uint8_t device, std::size_t bytes) {
  begin();
  subject = graph.add_storage(bytes, device);
  graph[subject].where = Where::pending;
  graph.bind(slot, subject);
  ++counters.live;
  place_subject();
}

void Machine::State::place_subject() {
  const std::size_t bytes = graph[subject].bytes;
  const std::uint8_t device = graph[subject].device;
  sizes.assign(bytes > 0 ? 1 : 0, bytes);
  if (const Room room = make_room(device, &State::place_subject); room != Room::there) {
    return room == Room::waits ? void() : put_refused();
  }
  graph[subject].place = ledger.place(device, bytes, pages);
  push_pages(device);
  queue.push(Action::Kind::fill, device).operand = operand_of(subject);
}

void Machine::State::put_refused() {
  on_refused = &State::filled;
  targets.clear();
  refuse(need_of(graph[subject].bytes), {});
}

void Machine::State::filled(ErrorId error) {
  Storage& storage = graph[subject];
  storage.where = Where::memory;
  if (error == 0) {
    tell_entered(subject);
    return tell_used(subject);
  }
  ledger.release(storage.device, storage.place);
  storage.place = {};
  storage.where = Where::nowhere;
  storage.error = error;
}

void Machine::State::want(StorageId id) {
  begin();
  subject = id;
  if (graph[id].error != 0) return;
  if (evicting) eviction.policy->issued(0, {&subject, 1}, {});
  if (graph[id].where == Where::memory) return tell_used(id);
  bring_subject();
}

void Machine::State::bring_subject() {
  targets.assign(1, subject);
  plan.build(graph, targets);
  if (!choose_plan()) return want_refused();
  run_plan(&State::wanted, &State::want_refused, &State::bring_subject);
}

// It stays while groups are cut.
void Machine::State::wanted() {
  ++graph[subject].pins;
  settle(&State::finish_wanted);
}

void Machine::State::finish_wanted() { unpin(subject); }

void Machine::State::want_refused() {
  targets.assign(1, subject);
  const Storage& storage = graph[subject];
  on_refused = &State::keep_refusal;
  refuse({}, storage.device == short_device ? need_of(storage.bytes) : Need{});
}

void Machine::State::finish() { settle(nullptr); }

void Machine::State::drop(StorageId id) {
  begin();
  const Storage& storage = graph[id];
  if (storage.recipe == none || storage.exports > 0 || storage.where == Where::nowhere) return;
  ++counters.dropped;
  give_up_bytes(id, Why::dropped);
  settle(nullptr);
}

void Machine::State::swap_out(StorageId id) {
  begin();
  const Storage& storage = graph[id];
  if (storage.where != Where::memory || storage.foreign || storage.exports > 0) return;
  if (storage.copied) return release(id, Why::swapped);
  if (storage.transfer == Transfer::out) await(id);
  else queue.push(Action::Kind::swap_out, storage.device).operand = operand_of(id);
  resume = &State::finish;
}

void Machine::State::set_budget(std::uint8_t device, std::size_t bytes) {
  begin();
  wanted_room = {.device = device, .budget = bytes, .staging = ledger.staging(device)};
  if (bytes > 0 && eviction.policy != nullptr && !evicting) begin_evicting();
  shed();
}

void Machine::State::set_spill(bool on, std::size_t staging) {
  begin();
  cancel_transfers();
  wanted_room = {.device = 0, .budget = ledger.budget(0), .staging = staging, .new_store = true, .spills = on};
  shed();
}

// Down to what is wanted, if that can be.
void Machine::State::shed() {
  const std::uint8_t device = wanted_room.device;
  const std::size_t bytes = wanted_room.budget, staging = wanted_room.staging;
  const std::size_t room = bytes > staging ? bytes - staging : 0;
  Placement& placement = ledger.placement(device);
  while (evicting && bytes > 0 && placement.charged() > room) {
    const Evicted evicted = evict_one(device, placement.charged() - room, room);
    if (evicted == Evicted::waits) resume = &State::shed;
    if (evicted == Evicted::waits) return;
    if (evicted == Evicted::nothing) break;
  }
  if (bytes > 0 && (room == 0 || !placement.shrink(room, pages))) {
    push_pages(device);
    if (evicting && !ledger.bounded()) end_evicting();
    short_device = device;
    on_refused = &State::keep_refusal;
    return push_refusal(placement.charged() + staging, std::max(placement.committed(), granule) + staging);
  }
  push_pages(device);
  ledger.set_staging(device, staging);
  ledger.set_budget(device, bytes);
  if (evicting && !ledger.bounded()) end_evicting();
  if (wanted_room.new_store) change_store();
  keeping.all_changed();  // judged after the next command: this one commits no pages
}

// Copies of what is resident do not move there.
void Machine::State::change_store() {
  graph.set_spills(wanted_room.spills);
  for (StorageId id = 0; id < graph.most_storages(); ++id) {
    if (graph[id].exists && graph[id].where == Where::memory) forget_copy(id);
  }
  if (evicting) begin_evicting();
}

void Machine::State::set_eviction(const Eviction& wanted) {
  begin();
  eviction = wanted;
  if (eviction.policy != nullptr && ledger.bounded()) begin_evicting();
  else if (evicting) end_evicting();
}

}  // namespace regrow::machine
