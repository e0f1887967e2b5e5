// SPDX-License-Identifier: Apache-2.0
// A plan that did not fit, run again with evictions among its own results: what is wanted is made on demand, with a stack of the
// recipes that wait for operands. Operands that are there are pinned while others are made; when that leaves no room, those of the recipe
// that will run last go first, and are made again. A recipe runs `most_runs` times at most.
#include "regrow/machine/state.h"

namespace regrow::machine {
namespace {

constexpr std::uint32_t most_runs = 64;

}  // namespace

void Machine::State::begin_bounded() {
  for (StorageId id : plan_pins) plan_unpin(id);
  plan_pins.clear();
  frames.clear();
  frame_pins.clear();
  runs.clear();
  bounded = true;
  ++counters.bounded_plans;
  if (graph.spills()) unpin_inputs();
  resume = &State::bounded_step;
}

void Machine::State::bounded_step() {
  if (graph.spills()) return one_by_one_step();
  for (;;) {
    StorageId missing = none;
    if (frames.empty()) {
      for (StorageId id : targets) {
        if (graph[id].where == Where::memory) plan_pin(id);
        else if (missing == none) missing = id;
      }
      if (missing == none) return end_plan(plan_ready);
    } else {
      const Frame top = frames.back();
      const auto is_mine = [&](StorageId id) { return std::find(frame_pins.begin() + top.pins, frame_pins.end(), id) != frame_pins.end(); };
      for (EdgeId edge = graph.recipe(top.recipe).inputs; edge != none && missing == none; edge = graph.edge(edge).next_input) {
        const StorageId id = graph.edge(edge).storage;
        if (graph[id].where != Where::memory) missing = id;
        else if (!is_mine(id)) pin_for_frame(id);
      }
      if (missing == none) return regrow(top.recipe);
    }
    if (graph[missing].where == Where::host) return read_back(missing);
    frames.push_back({.recipe = graph[missing].recipe, .pins = static_cast<std::uint32_t>(frame_pins.size())});
  }
}

void Machine::State::pop_frame() {
  while (frame_pins.size() > frames.back().pins) {
    if (frame_pins.back() != none) let_go(frame_pins.back());
    frame_pins.pop_back();
  }
  frames.pop_back();
}

void Machine::State::bounded_ran() {
  const RecipeId id = frames.back().recipe;
  pop_frame();
  if (++runs[id] >= most_runs) return abandon_plan();
  resume = &State::bounded_step;
}

bool Machine::State::unpin_farthest() {
  for (std::size_t i = 0; i + 1 < frames.size(); ++i) {
    bool any = false;
    for (std::uint32_t at = frames[i].pins; at < frames[i + 1].pins; ++at) {
      const StorageId id = std::exchange(frame_pins[at], none);
      if (id == none) continue;
      let_go(id);
      any = true;
    }
    if (any) return true;
  }
  return false;
}

}  // namespace regrow::machine
