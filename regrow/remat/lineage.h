// SPDX-License-Identifier: Apache-2.0
// Walks from a storage through evicted ones: up to what would have to run so that it could be made again, down to what it would help
// to make. Iterative, each operation once, and bounded. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "regrow/machine/graph.h"
#include "regrow/remat/transfer_cost.h"

namespace regrow::remat {

using machine::Graph;
using machine::RecipeId;
using machine::StorageId;
using machine::none;

inline bool is_evicted(const machine::Storage& storage) noexcept {
  return storage.where == machine::Where::nowhere && storage.recipe != none;
}

class Lineage {
 public:
  // Walks of more than `most` operations are given up there.
  explicit Lineage(std::uint32_t most = 512) : most_(most) {}
  void attach(const Graph& graph) noexcept { graph_ = &graph; }

  // Seconds of the operations that would have to run before that of `id` could: evicted ancestors, and of reading what they need from
  // the store. Its own is not among them.
  double ancestors_cost(StorageId id, const TransferCost& transfers);
  // Evicted storages that descend from `id` through evicted ones. Valid until the next call.
  const std::vector<StorageId>& descendants(StorageId id);
  // Storages, resident ones, that descend from `id` through evicted ones.
  const std::vector<StorageId>& resident_descendants(StorageId id);

 private:
  bool mark(RecipeId recipe);
  void walk_down(StorageId id);

  const Graph* graph_ = nullptr;
  std::uint32_t most_, stamp_ = 0;
  std::vector<std::uint32_t> marks_;  // by recipe
  std::vector<RecipeId> stack_;
  std::vector<StorageId> below_, rim_;
};

}  // namespace regrow::remat
