// SPDX-License-Identifier: Apache-2.0
#include "regrow/remat/scored_policy.h"

#include <algorithm>

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

double ScoredPolicy::transfer_seconds(StorageId id) const noexcept {
  const std::size_t bytes = storage(id).bytes;
  return transfers_.read(bytes) + (storage(id).copied ? 0 : transfers_.write(bytes));
}

double ScoredPolicy::cost(StorageId id) {
  if (!graph_->spills()) return regrow_seconds(id);
  if (storage(id).recipe == none) return transfer_seconds(id);
  return std::min(regrow_seconds(id), transfer_seconds(id));
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
    if (evictable(*graph_, storage(id))) candidates(storage(id).device).insert(id, judge(id));
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
    if (!evictable(*graph_, storage(choice.id))) {
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

// Those that are looked at are judged again before the next choice.
StorageId ScoredPolicy::next_to_write(std::uint8_t device, std::size_t bytes) {
  if (exact_) return none;
  judge_waiting();
  Candidates& its = candidates(device);
  constexpr int most = 16;
  for (int looked = 0; looked < most; ++looked) {
    const StorageId id = its.lowest(clock_, foretold_now()).id;
    if (id == none) return none;
    its.remove(id);
    judge_again(id);
    const machine::Storage& next = storage(id);
    if (!evictable(*graph_, next)) continue;
    const bool to_be_written = next.recipe == none || prefers_writing(id);
    if (to_be_written && !next.copied && next.transfer == machine::Transfer::none && next.bytes >= machine::granule) return id;
    if (next.place.bytes >= bytes) return none;
    bytes -= next.place.bytes;
  }
  return none;
}

StorageId ScoredPolicy::lowest_of_all(std::uint8_t device) {
  StorageId best = none;
  double lowest = 0;
  for (StorageId id = 0; id < graph_->most_storages(); ++id) {
    if (!storage(id).exists || storage(id).device != device || !evictable(*graph_, storage(id))) continue;
    const double score = candidates(device).score(judge(id), clock_, foretold_now());
    if (best == none || score < lowest) best = id, lowest = score;
  }
  return best;
}

}  // namespace regrow::remat
