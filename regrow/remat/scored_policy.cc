// SPDX-License-Identifier: Apache-2.0
#include "regrow/remat/scored_policy.h"

namespace regrow::remat {

void ScoredPolicy::attach(const Graph& graph) {
  graph_ = &graph;
  last_use_.clear();
  waiting_.clear();
  waits_.clear();
  candidates_.clear();
}

void ScoredPolicy::issued(std::uint64_t, std::span<const StorageId>, std::span<const StorageId>) {}

double ScoredPolicy::ran(std::uint64_t key, double seconds, bool) {
  clock_ += seconds;
  return costs_.add(key, seconds);
}

Candidates& ScoredPolicy::candidates(std::uint8_t device) {
  while (candidates_.size() <= device) candidates_.push_back(std::make_unique<Candidates>(alpha_));
  return *candidates_[device];
}

void ScoredPolicy::judge_again(StorageId id) {
  if (exact_) return;
  if (id >= waits_.size()) waits_.resize(id + std::size_t{1});
  if (waits_[id]) return;
  waits_[id] = true;
  waiting_.push_back(id);
}

void ScoredPolicy::entered(StorageId id) {
  if (id >= last_use_.size()) last_use_.resize(id + std::size_t{1});
  judge_again(id);
}

void ScoredPolicy::used(StorageId id) {
  if (id >= last_use_.size()) last_use_.resize(id + std::size_t{1});
  last_use_[id] = clock_;
  judge_again(id);
}

void ScoredPolicy::left(StorageId id) {
  if (!exact_) candidates(storage(id).device).remove(id);
}

void ScoredPolicy::erased(StorageId) {}

void ScoredPolicy::judge_waiting() {
  for (StorageId id : waiting_) {
    waits_[id] = false;
    if (evictable(storage(id))) candidates(storage(id).device).insert(id, judge(id));
  }
  waiting_.clear();
}

StorageId ScoredPolicy::victim(std::uint8_t device, std::size_t) {
  if (exact_) return lowest_of_all(device);
  judge_waiting();
  Candidates& its = candidates(device);
  for (;;) {
    const Candidates::Choice choice = its.lowest(clock_, foretold_now());
    if (choice.id == none) return none;
    if (!evictable(storage(choice.id))) {
      its.remove(choice.id);  // pinned: it comes back when it has been used
      continue;
    }
    const Standing now = judge(choice.id);
    // A storage becomes dearer without its being told, whenever something around it is evicted: it shows here. (What becomes cheaper
    // is judged again at once.)
    if (its.score(now, clock_, foretold_now()) <= choice.score * 1.02) return choice.id;
    its.insert(choice.id, now);
  }
}

StorageId ScoredPolicy::lowest_of_all(std::uint8_t device) {
  StorageId best = none;
  double lowest = 0;
  for (StorageId id = 0; id < graph_->most_storages(); ++id) {
    if (!storage(id).exists || storage(id).device != device || !evictable(storage(id))) continue;
    const double score = candidates(device).score(judge(id), clock_, foretold_now());
    if (best == none || score < lowest) best = id, lowest = score;
  }
  return best;
}

}  // namespace regrow::remat
