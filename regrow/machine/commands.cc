// SPDX-License-Identifier: Apache-2.0
// Commands on single storages, and budgets.
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
  if (!make_room(device)) return put_refused();
  graph[subject].place = ledger.place(device, bytes, pages);
  push_pages(device);
  queue.push(Action::Kind::fill, device).operand = operand_of(subject);
}

void Machine::State::put_refused() {
  on_refused = &State::filled;
  targets.clear();
  refuse(need_of(graph[subject].bytes), 0);
}

void Machine::State::filled(ErrorId error) {
  Storage& storage = graph[subject];
  storage.where = Where::memory;
  if (error == 0) return;
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
  refuse({}, storage.device == short_device ? need_of(storage.bytes).occupied : 0);
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
  queue.push(Action::Kind::swap_out, storage.device).operand = operand_of(id);
  resume = &State::finish;
}

void Machine::State::set_budget(std::uint8_t device, std::size_t bytes) {
  begin();
  Placement& placement = ledger.placement(device);
  if (bytes > 0 && eviction.policy != nullptr && !evicting) begin_evicting();
  while (evicting && bytes > 0 && placement.charged() > bytes && evict_one(device, placement.charged() - bytes)) {
  }
  if (bytes > 0 && !placement.shrink(bytes, pages)) {
    push_pages(device);
    if (evicting && !ledger.bounded()) end_evicting();
    short_device = device;
    on_refused = &State::keep_refusal;
    return push_refusal(placement.charged(), placement.committed());
  }
  push_pages(device);
  ledger.set_limit(device, bytes);
  if (evicting && !ledger.bounded()) end_evicting();
  keeping.all_changed();  // judged after the next command: this one commits no pages
}

void Machine::State::set_eviction(const Eviction& wanted) {
  begin();
  eviction = wanted;
  if (eviction.policy != nullptr && ledger.bounded()) begin_evicting();
  else if (evicting) end_evicting();
}

}  // namespace regrow::machine
