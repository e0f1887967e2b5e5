// SPDX-License-Identifier: Apache-2.0
// What a command that does not fit is told: what it needs at least, and a budget that is known to suffice. Linear in the number of
// storages: refusals are rare.
#include <algorithm>

#include "regrow/machine/state.h"

namespace regrow::machine {

void Machine::State::refuse(Need own, std::size_t operands_bytes) {
  const std::uint8_t device = short_device;
  const std::size_t floor = pinned_bytes(device) + operands_bytes + own.occupied;
  const std::size_t required = (floor + granule - 1) / granule * granule;
  plan.build(graph, targets);
  plan.estimate(graph, ledger.devices(), true);
  const std::size_t most = ledger.charged(device) + std::max(plan.peak(device).charged, plan.after(device).charged + own.charged);
  push_refusal(required, std::max(required, most + deferred_bytes(device)));
}

void Machine::State::push_refusal(std::size_t required, std::size_t smallest) {
  Action& action = queue.push(Action::Kind::refuse, short_device);
  action.required = required;
  action.smallest = smallest;
  action.no_pages = no_pages;
}

void Machine::State::keep_refusal(ErrorId error) { refusal = error; }

// What cannot be given up: sources, and what is exported. Operands of the command are counted apart.
std::size_t Machine::State::pinned_bytes(std::uint8_t device) const noexcept {
  std::size_t bytes = 0;
  for (StorageId id = 0; id < graph.most_storages(); ++id) {
    const Storage& storage = graph[id];
    if (!storage.exists || storage.device != device || storage.pins > 0 || id == subject) continue;
    if (storage.recipe == none || storage.exports > 0) bytes += storage.place.bytes;
  }
  return bytes;
}

// A larger budget makes room for cuts that were put off: their frontiers come back then.
std::size_t Machine::State::deferred_bytes(std::uint8_t device) const noexcept {
  std::size_t bytes = 0;
  for (GroupId group : deferred) {
    if (!keeping[group].exists) continue;
    for (RecipeId id = keeping[group].recipes; id != none; id = graph.recipe(id).next_in_group) {
      for (const Output& output : graph.recipe(id).outputs) {
        if (output.storage == none || graph[output.storage].device != device) continue;
        if (graph.live(output.storage) && graph[output.storage].where == Where::nowhere) bytes += need_of(output.bytes).charged;
      }
    }
  }
  return bytes;
}

}  // namespace regrow::machine
