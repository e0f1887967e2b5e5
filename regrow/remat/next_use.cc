// SPDX-License-Identifier: Apache-2.0
#include "regrow/remat/next_use.h"

#include <algorithm>
#include <cmath>

namespace regrow::remat {

void NextUsePolicy::learn(const Trace& trace) {
  history_ = History(2 * trace.commands().size() + 1024);
  history_.learn(trace);
}

void NextUsePolicy::set(const NextUseSettings& settings) {
  set_alpha(settings.alpha);
  beta_ = settings.beta;
  weights_.clear();
  for (const NextUseSettings::Weight& weight : settings.weights) weights_[weight.key] = weight.factor;
}

void NextUsePolicy::attach(const Graph& graph) {
  ScoredPolicy::attach(graph);
  lineage_.attach(graph);
  history_.forget_storages();
}

void NextUsePolicy::issued(std::uint64_t key, std::span<const StorageId> inputs, std::span<const StorageId> outputs) {
  history_.issued(key, inputs, outputs);
}

double NextUsePolicy::ran(std::uint64_t key, double seconds, bool regrow) {
  const double expected = ScoredPolicy::ran(key, seconds, regrow);
  if (!regrow) history_.took(expected);
  return expected;
}

// What it was made from, and what will be made from it, has become cheaper to have, or less urgent.
void NextUsePolicy::entered(StorageId id) {
  ScoredPolicy::entered(id);
  for (StorageId each : lineage_.resident_descendants(id)) judge_again(each);
}

void NextUsePolicy::left(StorageId id) {
  if (storage(id).dead) history_.ended(id);
  ScoredPolicy::left(id);
}

void NextUsePolicy::erased(StorageId id) {
  history_.ended(id);
  ScoredPolicy::erased(id);
}

// Of what is dead, or a descendant's.
History::Use NextUsePolicy::next_use(StorageId id) {
  History::Use next = storage(id).dead ? History::Use{.known = history_.follows()} : history_.next_use(id);
  if (!next.known) return next;
  for (StorageId each : lineage_.descendants(id)) {
    if (storage(each).dead) continue;
    const History::Use its = history_.next_use(each);
    if (its.known) next.at = std::min(next.at, its.at);
  }
  return next;
}

double NextUsePolicy::regrow_seconds(StorageId id) { return own_cost(id) + lineage_.ancestors_cost(id, transfers()); }

Standing NextUsePolicy::judge(StorageId id) {
  const double seconds = cost(id);
  double density = (beta_ == 1 ? seconds : std::pow(seconds, beta_)) / static_cast<double>(storage(id).bytes);
  if (!weights_.empty() && storage(id).recipe != none) {
    const auto weight = weights_.find(graph().recipe(storage(id).recipe).key);
    if (weight != weights_.end()) density *= weight->second;
  }
  const History::Use next = next_use(id);
  if (!next.known) return {.density = density, .at = last_use(id)};
  return {.density = density, .at = next.at, .foretold = true};
}

bool NextUsePolicy::expects_use(StorageId id) {
  const History::Use next = next_use(id);
  return !next.known || next.at != never;
}

}  // namespace regrow::remat
