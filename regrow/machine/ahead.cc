// SPDX-License-Identifier: Apache-2.0
// Transfers before there is need, side by side with operations: what would be evicted next is written, so that it can go for nothing;
// what will be read soon comes back while there is room. What is under way stands still: whatever would take its place waits.
#include <algorithm>

#include "regrow/machine/state.h"

namespace regrow::machine {
namespace {

constexpr std::uint64_t pressure_lasts = 20'000;  // operations after an eviction in which another one is expected
constexpr std::size_t horizon_share = 8;          // of the budget: victims so far ahead are written

}  // namespace

void Machine::State::look_ahead(std::span<const Slot> soon) {
  begin();
  if (!evicting || !graph.spills()) return;
  for (Slot slot : soon) {
    if (const StorageId id = graph.named(slot); id != none) read_ahead(id);
  }
  const bool pressure = pressed > 0 && counters.applied + 1 - pressed < pressure_lasts;
  for (std::uint8_t device = 0; pressure && device < ledger.devices(); ++device) {
    if (ledger.limit(device) > 0) write_ahead(device);
  }
}

void Machine::State::read_ahead(StorageId id) {
  Storage& storage = graph[id];
  if (storage.where != Where::host || storage.transfer != Transfer::none || storage.bytes < granule) return;
  sizes.assign(1, storage.bytes);
  if (ledger.limit(storage.device) == 0 || !ledger.fits(storage.device, sizes)) return;
  storage.place = ledger.place(storage.device, storage.bytes, pages);
  storage.transfer = Transfer::in;
  under_way.push_back(id);
  push_pages(storage.device);
  queue.push(Action::Kind::read_ahead, storage.device).operand = operand_of(id);
}

void Machine::State::write_ahead(std::uint8_t device) {
  const auto is_out = [this](StorageId id) { return graph[id].transfer == Transfer::out; };
  if (scanned == counters.evicted || std::any_of(under_way.begin(), under_way.end(), is_out)) return;
  const StorageId id = eviction.policy->next_to_write(device, ledger.limit(device) / horizon_share);
  if (id == none) {
    scanned = counters.evicted;
    return;
  }
  graph[id].transfer = Transfer::out;
  under_way.push_back(id);
  queue.push(Action::Kind::write_ahead, device).operand = operand_of(id);
}

void Machine::State::end_transfer(StorageId id) {
  graph[id].transfer = Transfer::none;
  std::erase(under_way, id);
}

void Machine::State::not_begun(StorageId id) {
  Storage& storage = graph[id];
  if (storage.transfer == Transfer::in) ledger.release(storage.device, std::exchange(storage.place, {}));
  end_transfer(id);
}

void Machine::State::await(StorageId id) {
  Action& action = queue.push(Action::Kind::await, graph[id].device);
  action.regrow = graph[id].recipe != none;
  action.operand = operand_of(id);
}

// A copy of what is in memory has been made, or not.
void Machine::State::written(StorageId id, const Completion& completion) {
  end_transfer(id);
  if (completion.error != 0) {
    scanned = counters.evicted;  // not before the next eviction
    return;
  }
  Storage& storage = graph[id];
  storage.copied = true;
  ledger.add_swapped(storage.device, storage.bytes);
  ++counters.written_ahead;
  if (evicting) eviction.policy->moved(storage.bytes, completion.seconds, true);
  tell_left(id);  // to be judged anew: it goes for nothing now
  tell_entered(id);
}

void Machine::State::transferred(StorageId id, const Completion& completion) {
  begin();
  if (graph[id].transfer == Transfer::out) return written(id, completion);
  end_transfer(id);
  Storage& storage = graph[id];
  if (completion.error == 0) {
    storage.where = Where::memory;
    ++counters.read_ahead;
    if (evicting) eviction.policy->moved(storage.bytes, completion.seconds, false);
    tell_entered(id);
    return tell_used(id);
  }
  ledger.release(storage.device, std::exchange(storage.place, {}));
  ledger.remove_swapped(storage.device, storage.bytes);
  storage.where = Where::nowhere;
  storage.copied = false;
  tell_left(id);
  if (storage.recipe != none) return;
  lose_value(id, completion.error);
  settle(nullptr);
}

// What somebody had to wait for: a victim that is being written, or something that is being read back.
void Machine::State::awaited(StorageId id, const Completion& completion) {
  if (graph[id].transfer == Transfer::in) {
    end_transfer(id);
    return swapped_in(id, completion);
  }
  const bool evicted = std::exchange(evictee, none) == id;
  written(id, completion);
  if (graph[id].copied) return release(id, Why::swapped);
  if (evicted) not_written(id);
}

void Machine::State::cancel_transfer(StorageId id) {
  Storage& storage = graph[id];
  if (storage.transfer == Transfer::none) return;
  note(Action::Kind::cancel, id, Why::deleted);
  if (storage.transfer == Transfer::in) ledger.release(storage.device, std::exchange(storage.place, {}));
  end_transfer(id);
}

void Machine::State::cancel_transfers() {
  while (!under_way.empty()) cancel_transfer(under_way.back());
}

// Its room is wanted for something that is needed now.
bool Machine::State::give_up_arriving(std::uint8_t device) {
  const auto arrives = [&](StorageId id) { return graph[id].transfer == Transfer::in && graph[id].device == device; };
  const auto found = std::find_if(under_way.rbegin(), under_way.rend(), arrives);
  if (found == under_way.rend()) return false;
  cancel_transfer(*found);
  return true;
}

}  // namespace regrow::machine
