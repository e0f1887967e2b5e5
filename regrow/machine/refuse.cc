// SPDX-License-Identifier: Apache-2.0
// What a command that does not fit is told: what it needs at least, and a budget that is known to suffice. Linear in the number of
// storages: refusals are rare.
#include <algorithm>

#include "regrow/machine/state.h"

namespace regrow::machine {

void Machine::State::refuse(Need own, Need operands) {
  const std::uint8_t device = short_device;
  const std::size_t floor = pinned_need(device).occupied + operands.occupied + own.occupied + ledger.staging(device);
  const std::size_t required = (floor + granule - 1) / granule * granule;
  plan.build(graph, targets);
  if (evicting && graph.spills() && eviction.least_bytes == 0) {
    return push_refusal(required, std::max(required, enough_with_spilling(own, operands)));
  }
  plan.estimate(graph, ledger.devices(), true);
  const std::size_t planned = std::max(plan.peak(device).charged, plan.after(device).charged + own.charged);
  const std::size_t most = ledger.staging(device) + ledger.charged(device) + planned;
  push_refusal(required, std::max(required, most + deferred_bytes(device)));
}

void Machine::State::push_refusal(std::size_t required, std::size_t smallest) {
  Action& action = queue.push(Action::Kind::refuse, short_device);
  action.required = required;
  action.smallest = smallest;
  action.no_pages = no_pages;
}

void Machine::State::keep_refusal(ErrorId error) { refusal = error; }

// All but what is pinned can be written out: the largest that has to stand at once, each small block in a slab of its own.
std::size_t Machine::State::enough_with_spilling(Need own, Need operands) const {
  std::size_t exported = 0, step = 0;
  for (StorageId id = 0; id < graph.most_storages(); ++id) {
    const Storage& storage = graph[id];
    const bool pinned = storage.exists && storage.exports > 0 && !storage.foreign && storage.device == short_device;
    if (pinned) exported += need_of(storage.bytes).charged;
  }
  for (const Plan::Step& each : plan.steps()) {
    if (each.regrow && graph.recipe(each.id).device == short_device) step = std::max(step, need_of_recipe(each.id).charged);
  }
  return ledger.staging(short_device) + std::max(exported + step, (pinned_need(short_device) + operands + own).charged);
}

Need Machine::State::need_of_recipe(RecipeId id) const noexcept {
  const Recipe& recipe = graph.recipe(id);
  Need need = need_of(recipe.workspace);
  for (EdgeId edge = recipe.inputs; edge != none; edge = graph.edge(edge).next_input) {
    if (!graph[graph.edge(edge).storage].foreign) need = need + need_of(graph[graph.edge(edge).storage].bytes);
  }
  for (const Output& output : recipe.outputs) need = need + need_of(output.view_of < 0 ? output.bytes : 0);
  return need;
}

// What cannot be given up: what is exported, and, without spilling, sources. Operands of the command are counted apart.
Need Machine::State::pinned_need(std::uint8_t device) const noexcept {
  const bool sources_stay = !evicting || !graph.spills();
  Need need;
  for (StorageId id = 0; id < graph.most_storages(); ++id) {
    const Storage& storage = graph[id];
    if (!storage.exists || storage.device != device || storage.pins > 0 || id == subject) continue;
    if (storage.place.bytes == 0 || storage.foreign) continue;
    if ((storage.recipe == none && sources_stay) || storage.exports > 0) need = need + need_of(storage.bytes);
  }
  return need;
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
