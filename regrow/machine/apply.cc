// SPDX-License-Identifier: Apache-2.0
// The stages of an operation: inputs are made resident; output sizes are found where they must be; outputs, recipe and deletes take
// effect on the graph; what that obliges to cut is cut; then room is found and the operation runs.
#include <algorithm>
#include <utility>

#include "regrow/machine/state.h"

namespace regrow::machine {

void Machine::State::apply(const ApplySpec& spec) {
  begin();
  op.spec = spec;
  op.outputs = spec.outputs;
  op.active = true;
  op.made = false;
  op.workspace_bytes = spec.workspace;
  op.recipe = none;
  op.inputs.clear();
  op.results.clear();
  op.lenders.clear();
  ++counters.applied;
  bool all_there = true;
  for (Slot slot : spec.inputs) {
    const StorageId id = graph.named(slot);
    op.inputs.push_back(id);
    Storage& storage = graph[id];
    ++storage.pins;
    all_there = all_there && storage.where == Where::memory;
  }
  all_there ? inputs_ready() : bring_inputs();
}

Need Machine::State::need_of_operation() const noexcept {
  Need need = need_of(op.workspace_bytes);
  for (const OutputSpec& output : op.outputs) {
    if (output.view_of < 0) need = need + need_of(output.bytes);
  }
  return need;
}

void Machine::State::bring_inputs() {
  targets.clear();
  for (StorageId id : op.inputs) {
    if (graph[id].error != 0) return poison_unmade(graph[id].error);
    if (graph[id].where != Where::memory) targets.push_back(id);
  }
  const auto is_view = [](const OutputSpec& output) { return output.view_of >= 0; };
  if (!op.spec.measure && !op.outputs.empty() && std::all_of(op.outputs.begin(), op.outputs.end(), is_view)) return inputs_ready();
  own_need[op.spec.device] = need_of_operation();
  plan.build(graph, targets);
  if (!choose_plan()) return apply_refused();
  run_plan(&State::inputs_brought, &State::apply_refused, &State::bring_inputs);
}

void Machine::State::inputs_brought() {
  for (StorageId id : op.inputs) {
    if (graph[id].error != 0) return poison_unmade(graph[id].error);  // its recomputation failed
  }
  inputs_ready();
}

void Machine::State::inputs_ready() {
  if (!op.spec.measure) return make_outputs();
  operands.clear();
  for (StorageId id : op.inputs) operands.push_back(operand_of(id));
  Action& action = queue.push(Action::Kind::measure, op.spec.device);
  action.payload = op.spec.payload;
  action.inputs = operands;
}

void Machine::State::measured(const Completion& completion) {
  if (completion.error != 0) return poison_unmade(completion.error);
  op.measured.assign(op.outputs.begin(), op.outputs.end());
  for (std::size_t i = 0; i < op.measured.size(); ++i) op.measured[i].bytes = completion.sizes[i];
  op.outputs = op.measured;
  op.workspace_bytes = std::max(op.workspace_bytes, completion.workspace);
  make_outputs();
}

void Machine::State::make_outputs() {
  op.made = true;
  bool runs = op.outputs.empty();
  for (const OutputSpec& output : op.outputs) {
    StorageId id;
    if (output.view_of >= 0) {
      id = op.inputs[static_cast<std::size_t>(output.view_of)];
    } else {
      runs = true;
      id = graph.add_storage(output.bytes, op.spec.device);
      graph[id].where = Where::pending;
      graph[id].pins = 1;
      ++counters.live;
    }
    op.results.push_back(id);
    graph.bind(output.slot, id);
  }
  unnamed.clear();
  for (Slot slot : op.spec.deletes) unnamed.push_back(graph.unbind(slot));
  if (runs && keeps_recipe()) record();
  if (evicting) eviction.policy->issued(op.spec.key, op.inputs, op.results);
  for (StorageId id : unnamed) died_if_unnamed(id);
  if (op.spec.state) doom_readers_of_replaced();
  if (ledger.bounded()) own_need[op.spec.device] = need_of_operation();
  settle(runs ? &State::launch : &State::finish_views);
}

// Not if the rule would take the recipe away again as soon as the deletes have taken effect: seen here where it alone would be the
// group of the sources that die.
bool Machine::State::keeps_recipe() const noexcept {
  if (!recording || !op.spec.replayable || op.spec.state || op.outputs.empty()) return false;
  bool source_dies = false;
  std::size_t held_bytes = 0, frontier_bytes = 0;
  for (auto id = op.inputs.begin(); id != op.inputs.end(); ++id) {
    const Storage& storage = graph[*id];
    if (storage.slots + storage.exports > 0) continue;
    if (storage.recipe == none && !ledger.bounded()) return false;
    if (storage.recipe != none || graph.is_read(*id)) return true;
    source_dies = true;
    if (std::find(op.inputs.begin(), id, *id) == id) held_bytes += storage.bytes;
  }
  for (const OutputSpec& output : op.outputs) frontier_bytes += output.view_of < 0 ? output.bytes : 0;
  return !source_dies || held_bytes < frontier_bytes;
}

void Machine::State::record() {
  op.recipe = graph.add_recipe(op.spec.payload, op.spec.device);
  Recipe& recipe = graph.recipe(op.recipe);
  recipe.key = op.spec.key;
  recipe.workspace = op.workspace_bytes;
  EdgeId last = none;
  for (StorageId id : op.inputs) last = graph.add_input(op.recipe, id, last);
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    const OutputSpec& output = op.outputs[i];
    graph.add_output(op.recipe, output.view_of < 0 ? op.results[i] : none, output.bytes, output.view_of);
  }
}

void Machine::State::doom_readers_of_replaced() {
  for (const OutputSpec& output : op.outputs) {
    for (std::size_t i = 0; i < op.inputs.size() && i < 32; ++i) {
      if ((output.reuse >> i & 1) == 0 || graph.live(op.inputs[i]) || !graph.is_read(op.inputs[i])) continue;
      keeping.doom(keeping.gather(op.inputs[i]));
    }
  }
}

bool Machine::State::may_lend(std::size_t input, const OutputSpec& output) const noexcept {
  const StorageId id = op.inputs[input];
  const Storage& storage = graph[id];
  if (!storage.dead || storage.foreign || storage.device != op.spec.device || storage.where != Where::memory) return false;
  if (storage.recipe == none && graph.is_read(id)) return false;  // a recipe needs it as a source
  if (output.bytes == 0 || storage.place.bytes != Placement::rounded(output.bytes)) return false;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i] != id) continue;
    // Read as well where it may not be written over, or through another view.
    if (i >= 32 || (output.reuse >> i & 1) == 0 || op.spec.inputs[i] != op.spec.inputs[input]) return false;
  }
  return true;
}

StorageId Machine::State::lender_of(const OutputSpec& output) const noexcept {
  if (output.view_of >= 0 || output.reuse == 0 || op.spec.fallible) return none;
  for (std::size_t i = 0; i < op.inputs.size() && i < 32; ++i) {
    if ((output.reuse >> i & 1) == 0 || !may_lend(i, output)) continue;
    if (std::find(op.lenders.begin(), op.lenders.end(), op.inputs[i]) == op.lenders.end()) return op.inputs[i];
  }
  return none;
}

std::size_t Machine::State::bytes_of_operation() const noexcept {
  std::size_t bytes = op.workspace.bytes;
  for (auto id = op.inputs.begin(); id != op.inputs.end(); ++id) {
    const Storage& storage = graph[*id];
    const bool counts = storage.device == op.spec.device && !storage.foreign && std::find(op.inputs.begin(), id, *id) == id;
    if (counts) bytes += storage.place.bytes;  // nothing where an output has taken its place
  }
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (op.outputs[i].view_of < 0) bytes += graph[op.results[i]].place.bytes;
  }
  return bytes;
}

void Machine::State::launch() {
  sizes.clear();
  op.lenders.clear();
  for (const OutputSpec& output : op.outputs) {
    op.lenders.push_back(lender_of(output));
    if (output.view_of < 0 && op.lenders.back() == none && output.bytes > 0) sizes.push_back(output.bytes);
  }
  if (op.workspace_bytes > 0) sizes.push_back(op.workspace_bytes);
  const std::uint8_t device = op.spec.device;
  if (const Room room = make_room(device, &State::launch); room != Room::there) {
    return room == Room::waits ? void() : apply_refused();
  }
  operands.clear();
  for (StorageId id : op.inputs) operands.push_back(operand_of(id));
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    Storage& storage = graph[op.results[i]];
    if (const StorageId lender = op.lenders[i]; lender != none) {
      cancel_transfer(lender);
      storage.place = std::exchange(graph[lender].place, {});
      graph[lender].where = Where::nowhere;
      tell_left(lender);
    } else if (op.outputs[i].view_of < 0) {
      storage.place = ledger.place(device, op.outputs[i].bytes, pages);
    }
    operands.push_back(operand_of(op.results[i]));
  }
  op.workspace = ledger.place(device, op.workspace_bytes, pages);
  ledger.note_workspace(device, op.workspace.bytes);
  ledger.note_operation(device, bytes_of_operation());
  push_pages(device);
  Action& action = queue.push(Action::Kind::run, device);
  action.payload = op.spec.payload;
  action.inputs = {operands.data(), op.inputs.size()};
  action.outputs = {operands.data() + op.inputs.size(), op.outputs.size()};
  action.workspace = op.workspace;
}

// The places are given back, also those that inputs had lent.
void Machine::State::launch_refused() {
  ledger.release(op.spec.device, std::exchange(op.workspace, {}));
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (op.outputs[i].view_of >= 0) continue;
    const Place place = std::exchange(graph[op.results[i]].place, {});
    if (const StorageId lender = op.lenders[i]; lender != none) {
      graph[lender].place = place;
      graph[lender].where = Where::memory;
      tell_entered(lender);
    } else {
      ledger.release(op.spec.device, place);
    }
  }
  apply_refused();
}

void Machine::State::finish_run(const Completion& completion) {
  ledger.release(op.spec.device, op.workspace);
  for (StorageId lender : op.lenders) {
    if (lender == none) continue;
    note(Action::Kind::released, lender, Why::in_place);
    forget_copy(lender);
    ++counters.in_place;
  }
  if (completion.error != 0) return poison_made(completion.error);
  const double seconds = expected_seconds(op.spec.key, completion.seconds, false);
  if (op.recipe == none) {
    note_retired(op.spec.payload);
  } else {
    graph.recipe(op.recipe).seconds = seconds;
  }
  op.active = false;
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (op.outputs[i].view_of >= 0) continue;
    graph[op.results[i]].where = Where::memory;
    tell_entered(op.results[i]);
    unpin(op.results[i]);
  }
  for (StorageId id : op.inputs) unpin(id);
  settle(nullptr);
}

void Machine::State::finish_views() {
  op.active = false;
  note_retired(op.spec.payload);
  for (StorageId id : op.inputs) unpin(id);
  settle(nullptr);
}

void Machine::State::unname(std::span<const Slot> slots) {
  for (Slot slot : slots) died_if_unnamed(graph.unbind(slot));
}

void Machine::State::poison_unmade(ErrorId error) {
  for (const OutputSpec& output : op.outputs) graph.bind(output.slot, poisoned_storage(op.spec.device, error));
  op.active = false;
  note_retired(op.spec.payload);
  for (StorageId id : op.inputs) unpin(id);
  unname(op.spec.deletes);
  settle(nullptr);
}

void Machine::State::poison_made(ErrorId error) {
  const RecipeId recipe = op.recipe;
  op.active = false;
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    const OutputSpec& output = op.outputs[i];
    if (output.view_of >= 0) {
      if (graph.named(output.slot) != op.results[i]) continue;  // deleted already
      graph.unbind(output.slot);
      graph.bind(output.slot, poisoned_storage(op.spec.device, error));
      died_if_unnamed(op.results[i]);
      continue;
    }
    const StorageId id = op.results[i];
    if (graph[id].recipe != none) detach(id);
    ledger.release(op.spec.device, std::exchange(graph[id].place, {}));
    graph[id].where = Where::nowhere;
    graph[id].error = error;
  }
  if (recipe != none) {
    remove_recipe(recipe);
    sweep();
  } else {
    note_retired(op.spec.payload);
  }
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (op.outputs[i].view_of < 0) unpin(op.results[i]);
  }
  for (StorageId id : op.inputs) unpin(id);
  settle(nullptr);
}

void Machine::State::apply_refused() {
  roll_back(0, true);
  resume = &State::refuse_apply;
}

void Machine::State::refuse_apply() {
  targets.clear();
  Need operands_need;
  for (auto id = op.inputs.begin(); id != op.inputs.end(); ++id) {
    const Storage& storage = graph[*id];
    const bool first = std::find(op.inputs.begin(), id, *id) == id;
    if (first && !storage.foreign && storage.device == short_device) operands_need = operands_need + need_of(storage.bytes);
    if (storage.where == Where::nowhere || storage.where == Where::host) targets.push_back(*id);
  }
  on_refused = &State::apply_answered;
  refuse(short_device == op.spec.device ? need_of_operation() : Need{}, operands_need);
}

void Machine::State::apply_answered(ErrorId error) {
  op.made ? poison_made(error) : poison_unmade(error);
}

}  // namespace regrow::machine
