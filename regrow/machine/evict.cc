// SPDX-License-Identifier: Apache-2.0
// Room: victims, as the policy names them, how they go, and what the policy is told.
#include <fmt/format.h>

#include <numeric>
#include <stdexcept>

#include "regrow/machine/state.h"

namespace regrow::machine {

Machine::State::Room Machine::State::make_room(std::uint8_t device, Stage again) {
  const bool keeps_below_mark = evicting && eviction.mark > 0;
  if (!keeps_below_mark && ledger.fits(device, sizes)) [[likely]] return Room::there;
  const std::size_t bytes = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  const auto above_mark = [&] { return keeps_below_mark && ledger.charged(device) + bytes > eviction.mark; };
  while (evicting && (above_mark() || !ledger.fits(device, sizes))) {
    const Evicted evicted = evict_one(device, bytes, ledger.limit(device));
    if (evicted == Evicted::nothing) break;
    if (evicted == Evicted::done) continue;
    resume = again;
    return Room::waits;
  }
  if (ledger.fits(device, sizes)) return Room::there;
  short_device = device;
  return Room::lacking;
}

Machine::State::Evicted Machine::State::evict_one(std::uint8_t device, std::size_t bytes, std::size_t limit) {
  const StorageId id = eviction.policy->victim(device, bytes);
  if (id == none) return give_up_arriving(device) ? Evicted::done : Evicted::nothing;
  Storage& storage = graph[id];
  if (!evictable(graph, storage) || storage.device != device) {
    throw std::logic_error(fmt::format("machine: storage {} may not be evicted", id));
  }
  ++counters.evicted;
  pressed = counters.applied + 1;
  if (storage.copied) {
    release(id, Why::swapped);
  } else if (storage.transfer == Transfer::out) {
    evictee = id;
    await(id);
    return Evicted::waits;
  } else if (may_drop(id, limit) && !(graph.spills() && (bounded || eviction.policy->prefers_writing(id)))) {
    release(id, Why::evicted);
  } else {
    evictee = id;
    queue.push(Action::Kind::swap_out, device).operand = operand_of(id);
    return Evicted::waits;
  }
  return Evicted::done;
}

// With spilling a value is not dropped that could not be made again within `limit`, nor while its recipe is being cut.
bool Machine::State::may_drop(StorageId id, std::size_t limit) const noexcept {
  const Storage& storage = graph[id];
  if (storage.recipe == none) return false;
  if (!graph.spills()) return true;
  const bool is_cut = cutting != none && graph.recipe(storage.recipe).group == cutting && graph.live(id);
  return !is_cut && (limit == 0 || need_of_recipe(storage.recipe).charged <= limit);
}

// It is dropped if it can be; else it stays, and others go.
void Machine::State::not_written(StorageId id) {
  if (may_drop(id, ledger.limit(graph[id].device))) return release(id, Why::evicted);
  tell_left(id);
  unwritten.push_back(id);
}

// Those that could not be written in one command may be in the next.
void Machine::State::offer_unwritten() {
  for (StorageId id : unwritten) {
    if (graph[id].exists) tell_entered(id);
  }
  unwritten.clear();
}

void Machine::State::begin_evicting() {
  evicting = true;
  std::fill(offered_bytes.begin(), offered_bytes.end(), 0);
  eviction.policy->attach(graph);
  for (StorageId id = 0; id < graph.most_storages(); ++id) {
    Storage& storage = graph[id];
    storage.offered = false;
    if (!storage.exists || (storage.recipe == none && !graph.spills())) continue;
    tell_entered(id);
    tell_used(id);
    if (storage.where == Where::nowhere && storage.recipe != none) tell_left(id);
  }
}

void Machine::State::end_evicting() {
  evicting = false;
  for (StorageId id = oldest_dead; id != none; id = graph[id].newer) let_ghost_go(id);
}

void Machine::State::tell_entered(StorageId id) {
  Storage& storage = graph[id];
  const bool may_go = storage.where == Where::memory && (storage.recipe != none || graph.spills()) && storage.exports == 0 &&
                      !storage.foreign;
  if (!evicting || !may_go || storage.bytes == 0 || storage.bytes < eviction.least_bytes || storage.offered) return;
  storage.offered = true;
  if (storage.place.bytes >= granule) offered_bytes[storage.device] += storage.place.bytes;
  eviction.policy->entered(id);
}

void Machine::State::tell_left(StorageId id) {
  if (!evicting) return;
  Storage& storage = graph[id];
  if (storage.offered) {
    storage.offered = false;
    if (const std::size_t bytes = Placement::rounded(storage.bytes); bytes >= granule) offered_bytes[storage.device] -= bytes;
  }
  eviction.policy->left(id);
}

}  // namespace regrow::machine
