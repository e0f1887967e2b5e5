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
  sizes.assign(bytes > 0 ? 1 : 0, bytes);
  if (!has_room(device)) {
    on_refused = &State::filled;
    return refuse(need_of(bytes), 0);
  }
  graph[subject].place = ledger.place(device, bytes, pages);
  push_pages(device);
  queue.push(Action::Kind::fill, device).operand = operand_of(subject);
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
  if (graph[id].error != 0 || graph[id].where == Where::memory) return;
  targets.assign(1, id);
  plan.build(graph, targets);
  const bool possible = choose_plan();
  remember_plan();
  if (!possible) return want_refused();
  run_plan(&State::finish, &State::want_refused);
}

void Machine::State::want_refused() {
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
  if (bytes > 0 && !placement.shrink(bytes, pages)) {
    push_pages(device);
    short_device = device;
    on_refused = &State::keep_refusal;
    return push_refusal(placement.charged(), placement.committed());
  }
  push_pages(device);
  ledger.set_limit(device, bytes);
  keeping.all_changed();  // judged after the next command: this one commits no pages
}

}  // namespace regrow::machine
