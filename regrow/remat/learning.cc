// SPDX-License-Identifier: Apache-2.0
// How a history learns a program from its trace: it listens to a run that has all the memory it wants. So it hears of every use that it
// will hear of later, also of those that the machine itself makes of values when it cuts.
#include <limits>

#include "regrow/machine/policy.h"
#include "regrow/remat/history.h"
#include "regrow/remat/replay.h"

namespace regrow::remat {
namespace {

class Listener final : public machine::Policy {
 public:
  using StorageId = machine::StorageId;
  explicit Listener(History& history) : history_(history) {}

  void attach(const machine::Graph& graph) override {
    graph_ = &graph;
    history_.forget_storages();
  }
  void issued(std::uint64_t key, std::span<const StorageId> inputs, std::span<const StorageId> outputs) override {
    history_.issued(key, inputs, outputs);
  }
  double ran(std::uint64_t, double seconds, bool) override {
    history_.took(seconds);
    return seconds;
  }
  void entered(StorageId) override {}
  void left(StorageId id) override {
    if ((*graph_)[id].dead) history_.ended(id);
  }
  void used(StorageId) override {}
  void erased(StorageId id) override { history_.ended(id); }
  StorageId victim(std::uint8_t, std::size_t) override { return machine::none; }
  bool expects_use(StorageId) override { return true; }

 private:
  History& history_;
  const machine::Graph* graph_ = nullptr;
};

}  // namespace

void History::learn(const Trace& trace) {
  const Index begin = end();
  Listener listener(*this);
  replay(trace, &listener, std::numeric_limits<std::size_t>::max() / 4);
  begin_again(begin);
}

}  // namespace regrow::remat
