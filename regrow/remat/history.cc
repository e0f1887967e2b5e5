// SPDX-License-Identifier: Apache-2.0
#include "regrow/remat/history.h"

#include <algorithm>

#include "regrow/base/hash.h"

namespace regrow::remat {
namespace {

constexpr std::uint64_t farthest_producer = 4096;  // what was made longer ago has been there always
constexpr std::size_t context_length = 3;
constexpr std::uint64_t window = 32;  // operations that may come on top, or be left out, before the place is lost

}  // namespace

History::Track& History::track(StorageId id) {
  if (id >= tracks_.size()) tracks_.resize(id + std::size_t{1});
  return tracks_[id];
}

std::uint64_t History::signature(std::uint64_t key, std::span<const StorageId> inputs, std::size_t outputs) {
  std::uint64_t hash = hash_combine(key, inputs.size() * 64 + outputs);
  for (StorageId id : inputs) {
    const Track& its = track(id);
    const std::uint64_t back = its.made == nil ? 0 : end() - its.made;
    hash = hash_combine(hash, back < farthest_producer ? back * 64 + its.output : 0);
  }
  return hash;
}

std::uint64_t History::context(std::uint64_t signature) const noexcept {
  for (std::size_t k = 1; k < context_length && k <= ops_.size(); ++k) {
    signature = hash_combine(signature, ops_[ops_.size() - k].signature);
  }
  return signature;
}

void History::find_place(std::uint64_t signature, std::uint64_t context) {
  place_ = nil;
  if (expected_ != nil && expected_ >= first_op_) {
    for (Index at = expected_; at < end() && at < expected_ + window && place_ == nil; ++at) {
      if (op(at).signature == signature) place_ = at;
    }
  }
  if (const auto found = places_.find(context); place_ == nil && found != places_.end()) place_ = found->second;
  follows_ = place_ != nil;
  if (follows_) expected_ = place_ + 1, lost_ = 0;
  else if (++lost_ > window) expected_ = nil;
}

void History::add_node(StorageId id, Index counterpart) {
  Track& its = track(id);
  const Index here = first_node_ + nodes_.size();
  if (its.last != nil && its.last >= first_node_) nodes_[its.last - first_node_].next = here;
  nodes_.push_back({end() - 1, nil});
  its.last = here;
  its.counterpart = counterpart;
}

void History::issued(std::uint64_t key, std::span<const StorageId> inputs, std::span<const StorageId> outputs) {
  const std::uint64_t sign = signature(key, inputs, outputs.size());
  const std::uint64_t surroundings = context(sign);
  find_place(sign, surroundings);
  places_[surroundings] = end();
  ops_.push_back({sign, clock_, first_node_ + nodes_.size()});
  Index counterpart = follows_ ? op(place_).first_node : nil;
  const auto add = [&](StorageId id) { add_node(id, follows_ ? counterpart++ : nil); };
  for (StorageId id : inputs) add(id);
  std::uint32_t k = 0;
  for (StorageId id : outputs) {
    const bool view = std::find(inputs.begin(), inputs.end(), id) != inputs.end();
    if (!view) ended(id), track(id) = {.made = end() - 1, .output = k, .last = nil, .counterpart = nil};
    add(id);
    ++k;
  }
  if (ops_.size() > most_) trim(most_ / 2);
}

void History::took(double seconds) { clock_ += seconds; }

void History::ended(StorageId id) {
  if (id >= tracks_.size()) return;
  const Index last = tracks_[id].last;
  if (last != nil && last >= first_node_) nodes_[last - first_node_].next = over;
  tracks_[id] = {};
}

void History::forget_storages() { tracks_.clear(); }

void History::trim(std::size_t keep) {
  const std::size_t gone = ops_.size() - keep;
  const Index first_node = ops_[gone].first_node;
  nodes_.erase(nodes_.begin(), nodes_.begin() + static_cast<std::ptrdiff_t>(first_node - first_node_));
  ops_.erase(ops_.begin(), ops_.begin() + static_cast<std::ptrdiff_t>(gone));
  first_op_ += gone;
  first_node_ = first_node;
  absl::erase_if(places_, [this](const auto& each) { return each.second < first_op_; });
  if (place_ != nil && place_ < first_op_) place_ = expected_ = nil, follows_ = false;
}

double History::now() const noexcept { return follows_ ? op(place_).at : clock_; }

History::Use History::next_use(StorageId id) const noexcept {
  if (!follows_ || id >= tracks_.size()) return {};
  Index at = tracks_[id].counterpart;
  if (at == nil || at < first_node_) return {};
  at = node(at).next;
  if (at == over) return {.known = true};
  if (at == nil) return {};  // its like is still there, and has not been read again
  if (node(at).op <= place_) return {};  // it should have been read by now
  return {.known = true, .at = op(node(at).op).at};
}

void History::begin_again(Index begin) {
  for (StorageId id = 0; id < tracks_.size(); ++id) ended(id);
  forget_storages();
  place_ = nil;
  follows_ = false;
  expected_ = end() > begin ? begin : nil;
}

}  // namespace regrow::remat
