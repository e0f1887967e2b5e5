// SPDX-License-Identifier: Apache-2.0
#include "regrow/remat/dtr.h"

#include <algorithm>
#include <utility>

namespace regrow::remat {

void DtrPolicy::attach(const Graph& graph) {
  ScoredPolicy::attach(graph);
  lineage_.attach(graph);
}

double DtrPolicy::regrow_seconds(StorageId id) {
  double seconds = own_cost(id) + lineage_.ancestors_cost(id, transfers());
  for (StorageId each : lineage_.descendants(id)) seconds += own_cost(each);
  return seconds;
}

Standing DtrPolicy::judge(StorageId id) { return {.density = cost(id) / static_cast<double>(storage(id).bytes), .at = last_use(id)}; }

void DtrEqPolicy::attach(const Graph& graph) {
  ScoredPolicy::attach(graph);
  nodes_.clear();
  node_.clear();
  counted_.clear();
  members_ = 0;
}

std::uint32_t DtrEqPolicy::root(std::uint32_t node) noexcept {
  while (nodes_[node].parent != node) {
    nodes_[node].parent = nodes_[nodes_[node].parent].parent;
    node = nodes_[node].parent;
  }
  return node;
}

std::uint32_t DtrEqPolicy::add(double cost) {
  nodes_.push_back({static_cast<std::uint32_t>(nodes_.size()), cost});
  return nodes_.back().parent;
}

template <class F>
void DtrEqPolicy::each_neighbour(StorageId id, F f) const {
  if (storage(id).recipe != none) {
    for (machine::EdgeId e = graph().recipe(storage(id).recipe).inputs; e != none; e = graph().edge(e).next_input) {
      f(graph().edge(e).storage);
    }
  }
  for (machine::EdgeId e = storage(id).users; e != none; e = graph().edge(e).next_user) {
    for (const machine::Output& output : graph().recipe(graph().edge(e).recipe).outputs) {
      if (output.storage != none) f(output.storage);
    }
  }
}

double DtrEqPolicy::regrow_seconds(StorageId id) {
  roots_.clear();
  each_neighbour(id, [this](StorageId each) {
    if (node_of(each) != none) roots_.push_back(root(node_[each]));
  });
  std::sort(roots_.begin(), roots_.end());
  roots_.erase(std::unique(roots_.begin(), roots_.end()), roots_.end());
  double seconds = own_cost(id);
  for (std::uint32_t each : roots_) seconds += nodes_[each].cost;
  return seconds;
}

Standing DtrEqPolicy::judge(StorageId id) { return {.density = cost(id) / static_cast<double>(storage(id).bytes), .at = last_use(id)}; }

void DtrEqPolicy::left(StorageId id) {
  ScoredPolicy::left(id);
  if (!is_evicted(storage(id))) return detach(id);
  if (id >= node_.size()) node_.resize(id + std::size_t{1}, none), counted_.resize(id + std::size_t{1});
  if (node_[id] != none) return;
  if (nodes_.size() > 8 * members_ + (std::size_t{1} << 20)) compact();
  ++members_;
  counted_[id] = own_cost(id);
  node_[id] = add(counted_[id]);
  each_neighbour(id, [this, id](StorageId each) {
    if (node_of(each) == none) return;
    const std::uint32_t a = root(node_[id]), b = root(node_[each]);
    if (a == b) return;
    nodes_[b].parent = a;
    nodes_[a].cost += nodes_[b].cost;
  });
}

void DtrEqPolicy::detach(StorageId id) {
  const std::uint32_t node = node_of(id);
  if (node == none) return;
  nodes_[root(node)].cost -= counted_[id];
  node_[id] = none;
  --members_;
}

void DtrEqPolicy::entered(StorageId id) {
  if (node_of(id) != none) {
    detach(id);
    each_neighbour(id, [this](StorageId each) { judge_again(each); });
  }
  ScoredPolicy::entered(id);
}

void DtrEqPolicy::erased(StorageId id) {
  detach(id);
  ScoredPolicy::erased(id);
}

// Nodes of what is in no component any more go; components stay as they are.
void DtrEqPolicy::compact() {
  std::vector<Node> kept;
  std::vector<std::uint32_t> moved(nodes_.size(), none);
  for (std::uint32_t& node : node_) {
    if (node == none) continue;
    const std::uint32_t old = root(node);
    if (moved[old] == none) {
      moved[old] = static_cast<std::uint32_t>(kept.size());
      kept.push_back({moved[old], nodes_[old].cost});
    }
    node = moved[old];
  }
  nodes_ = std::move(kept);
}

}  // namespace regrow::remat
