// SPDX-License-Identifier: Apache-2.0
// A policy for tests: any victim that may go, and a check that the machine tells what it has promised to tell.
#pragma once

#include <random>
#include <set>
#include <stdexcept>
#include <string>

#include "regrow/machine/policy.h"

namespace regrow::machine {

class RandomPolicy : public Policy {
 public:
  explicit RandomPolicy(std::uint64_t seed) : random_(seed) {}

  void attach(const Graph& graph) override { graph_ = &graph, offered_.clear(); }
  void issued(std::uint64_t, std::span<const StorageId> inputs, std::span<const StorageId> outputs) override {
    for (StorageId id : inputs) require((*graph_)[id].exists, id, "is read and does not exist");
    for (StorageId id : outputs) require((*graph_)[id].exists, id, "is made and does not exist");
  }
  double ran(std::uint64_t, double seconds, bool) override { return seconds; }
  void entered(StorageId id) override {
    require(offered_.insert(id).second, id, "enters twice");
    require((*graph_)[id].where == Where::memory && ((*graph_)[id].recipe != none || graph_->spills()), id, "enters and may not go");
  }
  void left(StorageId id) override { offered_.erase(id), pinned_.erase(id); }
  void used(StorageId id) override {
    require(offered_.contains(id), id, "is used and never entered");
    pinned_.erase(id);
  }
  void erased(StorageId id) override { require(!offered_.contains(id), id, "is erased and has not left"); }
  StorageId victim(std::uint8_t device, std::size_t) override {
    std::vector<StorageId> may_go;
    for (StorageId id : offered_) {
      if ((*graph_)[id].pins > 0) pinned_.insert(id);  // not looked at again before it is told that it is used
      if (evictable(*graph_, (*graph_)[id]) && (*graph_)[id].device == device && !pinned_.contains(id)) may_go.push_back(id);
    }
    return may_go.empty() ? none : may_go[random_() % may_go.size()];
  }
  bool prefers_writing(StorageId id) override {
    require(evictable(*graph_, (*graph_)[id]) && !(*graph_)[id].copied, id, "is asked about and need not be");
    return random_() % 2 == 0;
  }
  StorageId next_to_write(std::uint8_t device, std::size_t) override {
    std::vector<StorageId> may_go;
    for (StorageId id : offered_) {
      const Storage& storage = (*graph_)[id];
      const bool stands = evictable(*graph_, storage) && storage.device == device;
      if (stands && !storage.copied && storage.transfer == Transfer::none) may_go.push_back(id);
    }
    return may_go.empty() ? none : may_go[random_() % may_go.size()];
  }
  bool expects_use(StorageId id) override {
    require((*graph_)[id].dead, id, "is asked about and alive");
    return random_() % 2 == 0;
  }

 private:
  static void require(bool ok, StorageId id, const char* what) {
    if (!ok) throw std::logic_error("policy: storage " + std::to_string(id) + " " + what);
  }
  std::mt19937_64 random_;
  const Graph* graph_ = nullptr;
  std::set<StorageId> offered_, pinned_;
};

}  // namespace regrow::machine
