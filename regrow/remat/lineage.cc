// SPDX-License-Identifier: Apache-2.0
#include "regrow/remat/lineage.h"

#include <algorithm>

namespace regrow::remat {

bool Lineage::mark(RecipeId recipe) {
  if (recipe >= marks_.size()) marks_.resize(std::max<std::size_t>(graph_->most_recipes(), recipe + std::size_t{1}));
  if (marks_[recipe] == stamp_) return false;
  marks_[recipe] = stamp_;
  return true;
}

double Lineage::ancestors_cost(StorageId id, const TransferCost& transfers) {
  const RecipeId own = (*graph_)[id].recipe;
  if (own == none) return 0;
  ++stamp_;
  mark(own);
  stack_.assign(1, own);
  double sum = 0;
  for (std::uint32_t seen = 0; !stack_.empty() && seen < most_; ++seen) {
    const RecipeId at = stack_.back();
    stack_.pop_back();
    for (machine::EdgeId e = graph_->recipe(at).inputs; e != none; e = graph_->edge(e).next_input) {
      const machine::Storage& input = (*graph_)[graph_->edge(e).storage];
      if (input.where == machine::Where::host) sum += transfers.read(input.bytes);
      if (!is_evicted(input) || !mark(input.recipe)) continue;
      sum += graph_->recipe(input.recipe).seconds;
      stack_.push_back(input.recipe);
    }
  }
  return sum;
}

void Lineage::walk_down(StorageId id) {
  ++stamp_;
  below_.clear();
  rim_.clear();
  std::size_t next = 0, seen = 0;
  for (StorageId at = id;;) {
    for (machine::EdgeId e = (*graph_)[at].users; e != none && seen < most_; e = graph_->edge(e).next_user) {
      const RecipeId reader = graph_->edge(e).recipe;
      if (!mark(reader)) continue;
      ++seen;
      for (const machine::Output& output : graph_->recipe(reader).outputs) {
        if (output.storage == none) continue;
        (is_evicted((*graph_)[output.storage]) ? below_ : rim_).push_back(output.storage);
      }
    }
    if (next == below_.size()) return;
    at = below_[next++];
  }
}

const std::vector<StorageId>& Lineage::descendants(StorageId id) { return walk_down(id), below_; }
const std::vector<StorageId>& Lineage::resident_descendants(StorageId id) { return walk_down(id), rim_; }

}  // namespace regrow::remat
