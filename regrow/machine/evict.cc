// SPDX-License-Identifier: Apache-2.0
// Room: victims, as the policy names them, and what the policy is told.
#include <fmt/format.h>

#include <numeric>
#include <stdexcept>

#include "regrow/machine/state.h"

namespace regrow::machine {

bool Machine::State::make_room(std::uint8_t device) {
  if (evicting && eviction.mark > 0) [[unlikely]] keep_below_mark(device, std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}));
  if (ledger.fits(device, sizes)) [[likely]] return true;
  if (evicting) {
    const std::size_t bytes = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
    while (evict_one(device, bytes)) {
      if (ledger.fits(device, sizes)) return true;
    }
  }
  short_device = device;
  return false;
}

void Machine::State::keep_below_mark(std::uint8_t device, std::size_t bytes) {
  while (ledger.charged(device) + bytes > eviction.mark && evict_one(device, bytes)) {
  }
}

bool Machine::State::evict_one(std::uint8_t device, std::size_t bytes) {
  const StorageId id = eviction.policy->victim(device, bytes);
  if (id == none) return false;
  if (!evictable(graph[id]) || graph[id].device != device) {
    throw std::logic_error(fmt::format("machine: storage {} may not be evicted", id));
  }
  ++counters.evicted;
  release(id, Why::evicted);
  return true;
}

void Machine::State::begin_evicting() {
  evicting = true;
  std::fill(offered_bytes.begin(), offered_bytes.end(), 0);
  eviction.policy->attach(graph);
  for (StorageId id = 0; id < graph.most_storages(); ++id) {
    Storage& storage = graph[id];
    storage.offered = false;
    if (!storage.exists || storage.recipe == none) continue;
    tell_entered(id);
    tell_used(id);
    if (storage.where == Where::nowhere) tell_left(id);
  }
}

void Machine::State::end_evicting() {
  evicting = false;
  for (StorageId id = oldest_dead; id != none; id = graph[id].newer) let_ghost_go(id);
}

void Machine::State::tell_entered(StorageId id) {
  Storage& storage = graph[id];
  const bool may_go = storage.where == Where::memory && storage.recipe != none && storage.exports == 0 && !storage.foreign;
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
