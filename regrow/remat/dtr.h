// SPDX-License-Identifier: Apache-2.0
// The heuristics of Dynamic Tensor Rematerialization (Kirisame et al., ICLR 2021): (own cost + cost of the evicted neighbourhood) /
// (bytes x time since the last use). One thread.
#pragma once

#include <vector>

#include "regrow/remat/scored_policy.h"

namespace regrow::remat {

// h_DTR: the neighbourhood is walked at each evaluation: evicted ancestors and descendants.
class DtrPolicy final : public ScoredPolicy {
 public:
  explicit DtrPolicy(bool exact) : ScoredPolicy(1, exact), lineage_(1u << 20) {}
  void attach(const Graph& graph) override;

 private:
  Standing judge(StorageId id) override;
  double regrow_seconds(StorageId id) override;
  Lineage lineage_;
};

// h_DTR^eq: evicted storages form components by union-find. What is made again is taken off its component, which is never split.
class DtrEqPolicy : public ScoredPolicy {
 public:
  explicit DtrEqPolicy(bool exact) : ScoredPolicy(1, exact) {}
  void attach(const Graph& graph) override;
  void entered(StorageId id) override;
  void left(StorageId id) override;
  void erased(StorageId id) override;

 protected:
  Standing judge(StorageId id) override;
  double regrow_seconds(StorageId id) override;

 private:
  struct Node {
    std::uint32_t parent;
    double cost;  // of a root: what its members cost
  };
  std::uint32_t root(std::uint32_t node) noexcept;
  std::uint32_t add(double cost);
  void detach(StorageId id);
  void compact();
  template <class F>
  void each_neighbour(StorageId id, F f) const;
  std::uint32_t node_of(StorageId id) const noexcept { return id < node_.size() ? node_[id] : none; }

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> node_;   // by storage; none: it is in no component
  std::vector<double> counted_;       // by storage: what it added to its component
  std::vector<std::uint32_t> roots_;  // of the neighbours of one storage
  std::size_t members_ = 0;
};

}  // namespace regrow::remat
