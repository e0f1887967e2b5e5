// SPDX-License-Identifier: Apache-2.0
// A placement and the arena that carries it out, for tests, without the machine between them. One thread.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "regrow/machine/placement.h"
#include "regrow/memory/arena.h"

namespace regrow::stress {

class PlacedArena {
 public:
  explicit PlacedArena(std::size_t limit) : arena_(std::size_t{4} << 30), placement_(arena_.reserved()) {
    arena_.set_limit(limit);
    placement_.set_limit(limit);
  }

  bool fits(std::size_t bytes) const { return placement_.fits(bytes); }
  machine::Place place(std::size_t bytes) {
    actions_.clear();
    const machine::Place place = placement_.place(bytes, actions_);
    for (const machine::PageAction& action : actions_) carry_out(action);
    arena_.mark_used(place.offset, place.bytes, bytes);
    return place;
  }
  void release(const machine::Place& place) {
    arena_.mark_free(place.offset, place.bytes);
    placement_.release(place);
  }
  void change_limit(std::size_t limit) {
    actions_.clear();
    ASSERT_TRUE(placement_.shrink(limit, actions_));
    for (const machine::PageAction& action : actions_) carry_out(action);
    placement_.set_limit(limit);
    arena_.set_limit(limit);
  }

  memory::Arena& arena() { return arena_; }
  machine::Placement& placement() { return placement_; }
  std::size_t page_actions() const { return page_actions_; }

 private:
  void carry_out(const machine::PageAction& action) {
    ++page_actions_;
    switch (action.kind) {
      case machine::PageAction::Kind::commit: arena_.commit(action.offset, action.bytes); break;
      case machine::PageAction::Kind::decommit: arena_.decommit(action.offset, action.bytes); break;
      case machine::PageAction::Kind::move: arena_.move(action.offset, action.to, action.bytes); break;
    }
  }

  memory::Arena arena_;
  machine::Placement placement_;
  std::vector<machine::PageAction> actions_;
  std::size_t page_actions_ = 0;
};

// A training step in outline: activations of each layer, with a workspace, and gradients in reverse.
struct TrainedArena {
  PlacedArena bench{0};
  std::vector<machine::Place> kept;

  void step() {
    for (std::size_t layer = 0; layer < 40; ++layer) {
      const machine::Place workspace = bench.place(100'000 + layer * 7'919);
      kept.push_back(bench.place((1 + layer % 7) * 150'001));
      std::memset(bench.arena().at(kept.back().offset), 2, 1000);
      kept.push_back(bench.place(1 + layer * 37));
      std::memset(bench.arena().at(workspace.offset), 1, 100'000);
      bench.release(workspace);
    }
    while (!kept.empty()) {
      const machine::Place gradient = bench.place(kept.back().bytes);
      bench.release(kept.back());
      kept.pop_back();
      bench.release(gradient);
    }
  }
};

}  // namespace regrow::stress
