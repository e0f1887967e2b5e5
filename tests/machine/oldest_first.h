// SPDX-License-Identifier: Apache-2.0
// A policy whose choices a test can foresee: what was used longest ago goes; dropped, or written out if it is told so. One thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "regrow/machine/policy.h"

namespace regrow::machine {

class OldestFirst : public Policy {
 public:
  bool expects = false;  // whether ghosts are wanted again
  bool writes = false;
  std::size_t written_bytes = 0, read_bytes = 0;

  void attach(const Graph& graph) override { graph_ = &graph, order_.clear(); }
  void issued(std::uint64_t, std::span<const StorageId>, std::span<const StorageId>) override {}
  double ran(std::uint64_t, double seconds, bool) override { return seconds; }
  void entered(StorageId id) override { used(id); }
  void left(StorageId id) override { std::erase(order_, id); }
  void used(StorageId id) override { left(id), order_.push_back(id); }
  void erased(StorageId) override {}
  StorageId victim(std::uint8_t device, std::size_t) override {
    for (StorageId id : order_) {
      if (evictable(*graph_, (*graph_)[id]) && (*graph_)[id].device == device) return id;
    }
    return none;
  }
  bool prefers_writing(StorageId) override { return writes; }
  StorageId next_to_write(std::uint8_t, std::size_t) override {
    for (StorageId id : order_) {
      if (!(*graph_)[id].copied && (*graph_)[id].transfer == Transfer::none) return id;
    }
    return none;
  }
  void moved(std::size_t bytes, double, bool written) override { (written ? written_bytes : read_bytes) += bytes; }
  bool expects_use(StorageId) override { return expects; }

 private:
  const Graph* graph_ = nullptr;
  std::vector<StorageId> order_;
};

}  // namespace regrow::machine
