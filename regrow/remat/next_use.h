// SPDX-License-Identifier: Apache-2.0
// Our policy: (own cost + cost of evicted ancestors)^beta / (bytes x (time to the next use)^alpha). The next use is that of the storage
// or of an evicted one that would be made from it, as the history foretells; where it does not, the time since the last
// use stands in. One thread.
#pragma once

#include "regrow/remat/history.h"
#include "regrow/remat/scored_policy.h"
#include "regrow/remat/settings.h"

namespace regrow::remat {

class NextUsePolicy final : public ScoredPolicy {
 public:
  explicit NextUsePolicy(const NextUseSettings& settings = {}, bool exact = false) : ScoredPolicy(settings.alpha, exact), lineage_(256) {
    set(settings);
  }

  // The program is expected to do again what the trace says, from its beginning.
  void learn(const Trace& trace);
  // What has been learnt by another.
  void learn(const History& history) { history_ = history; }
  // Takes effect with the next attach().
  void set(const NextUseSettings& settings);

  void attach(const Graph& graph) override;
  void issued(std::uint64_t key, std::span<const StorageId> inputs, std::span<const StorageId> outputs) override;
  double ran(std::uint64_t key, double seconds, bool regrow) override;
  void entered(StorageId id) override;
  void left(StorageId id) override;
  void erased(StorageId id) override;
  bool expects_use(StorageId id) override;

 private:
  Standing judge(StorageId id) override;
  double regrow_seconds(StorageId id) override;
  double foretold_now() const noexcept override { return history_.now(); }
  History::Use next_use(StorageId id);

  double beta_ = 1;
  absl::flat_hash_map<std::uint64_t, double> weights_;
  History history_;
  Lineage lineage_;
};

}  // namespace regrow::remat
