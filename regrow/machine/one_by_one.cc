// SPDX-License-Identifier: Apache-2.0
// A plan that did not fit, where evictions may write out: one operation after the other is run again, each with nothing but its own
// operands pinned, and what comes of it is written out when the next one needs the room. In the end what is wanted is read back. So no
// more is needed than the largest of these operations, and the command itself, need at once.
#include "regrow/machine/state.h"

namespace regrow::machine {

// The operands of the command may go meanwhile.
void Machine::State::unpin_inputs() {
  if (!op.active || op.made) return;
  inputs_unpinned = true;
  for (StorageId id : op.inputs) {
    if (--graph[id].pins == 0) tell_used(id);
  }
}

// If it has to be computed: that is next.
bool Machine::State::push_missing(StorageId id) {
  if (graph[id].where != Where::nowhere) return false;
  frames.push_back({.recipe = graph[id].recipe, .pins = static_cast<std::uint32_t>(frame_pins.size())});
  return true;
}

void Machine::State::one_by_one_step() {
  while (!frames.empty()) {
    const Frame top = frames.back();
    bool pushed = false;
    for (EdgeId edge = graph.recipe(top.recipe).inputs; edge != none && !pushed; edge = graph.edge(edge).next_input) {
      pushed = push_missing(graph.edge(edge).storage);
    }
    if (pushed) continue;
    StorageId outside = none;
    const auto is_mine = [&](StorageId id) { return std::find(frame_pins.begin() + top.pins, frame_pins.end(), id) != frame_pins.end(); };
    for (EdgeId edge = graph.recipe(top.recipe).inputs; edge != none; edge = graph.edge(edge).next_input) {
      const StorageId id = graph.edge(edge).storage;
      if (graph[id].where == Where::host) outside = id;
      else if (!is_mine(id)) pin_for_frame(id);
    }
    return outside == none ? regrow(top.recipe) : read_back(outside);
  }
  const std::span<const StorageId> inputs = inputs_unpinned ? std::span<const StorageId>(op.inputs) : std::span<const StorageId>();
  for (const std::span<const StorageId> wanted : {std::span<const StorageId>(targets), inputs}) {
    for (StorageId id : wanted) {
      if (push_missing(id)) {
        resume = &State::one_by_one_step;
        return;
      }
    }
  }
  for (const std::span<const StorageId> wanted : {std::span<const StorageId>(targets), inputs}) {
    for (StorageId id : wanted) {
      if (graph[id].where == Where::host) return read_back(id);
      plan_pin(id);
    }
  }
  end_plan(plan_ready);
}

}  // namespace regrow::machine
