// SPDX-License-Identifier: Apache-2.0
#include "regrow/remat/coop.h"

#include <algorithm>

namespace regrow::remat {

StorageId CoopPolicy::victim(std::uint8_t device, std::size_t bytes) {
  const auto may_go = [&](StorageId id) { return evictable(graph(), storage(id)) && storage(id).device == device; };
  while (!window_.empty() && !may_go(window_.back())) window_.pop_back();
  if (window_.empty()) {
    collect(device);
    choose_window(bytes);
  }
  if (window_.empty()) return none;
  const StorageId id = window_.back();
  window_.pop_back();
  return id;
}

void CoopPolicy::collect(std::uint8_t device) {
  blocks_.clear();
  for (StorageId id = 0; id < graph().most_storages(); ++id) {
    const machine::Storage& its = storage(id);
    if (!its.exists || its.device != device || its.place.bytes == 0) continue;
    Block block{its.place.offset, its.place.offset + its.place.bytes, id, evictable(graph(), its), 0};
    if (block.may_go) block.cost = judge(id).density * static_cast<double>(its.bytes) / std::max(clock() - last_use(id), 1e-12);
    blocks_.push_back(block);
  }
  std::sort(blocks_.begin(), blocks_.end(), [](const Block& a, const Block& b) { return a.begin < b.begin; });
}

// Two ends that move up; what may not go is a border. If no window is large enough, the largest.
void CoopPolicy::choose_window(std::size_t bytes) {
  std::size_t first = 0, best_first = 0, best_end = 0;
  double cost = 0, best_cost = never;
  std::uint64_t largest = 0;
  for (std::size_t last = 0; last < blocks_.size(); ++last) {
    if (!blocks_[last].may_go) {
      first = last + 1;
      cost = 0;
      continue;
    }
    cost += blocks_[last].cost;
    while (first < last && blocks_[last].end - blocks_[first + 1].begin >= bytes) cost -= blocks_[first++].cost;
    const std::uint64_t span = blocks_[last].end - blocks_[first].begin;
    const bool better = span >= bytes ? largest < bytes || cost < best_cost : span > largest;
    if (!better) continue;
    largest = span >= bytes ? bytes : span;
    best_cost = cost;
    best_first = first;
    best_end = last + 1;
  }
  for (std::size_t i = best_first; i < best_end; ++i) window_.push_back(blocks_[i].id);
}

}  // namespace regrow::remat
