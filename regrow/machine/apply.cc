// SPDX-License-Identifier: Apache-2.0
// The stages of an operation: inputs are made resident; output sizes are found where they must be; outputs, recipe and deletes take
// effect on the graph; what that obliges to cut is cut; then room is found and the operation runs.
#include <algorithm>
#include <utility>

#include "regrow/machine/state.h"

namespace regrow::machine {

void Machine::State::load(const ApplySpec& spec) {
  op.payload = spec.payload;
  op.key = spec.key;
  op.device = spec.device;
  op.replayable = spec.replayable;
  op.fallible = spec.fallible;
  op.state = spec.state;
  op.measure = spec.measure;
  op.active = true;
  op.made = false;
  op.refused = false;
  op.workspace_bytes = spec.workspace;
  op.workspace = {};
  op.recipe = none;
  op.slots.assign(spec.inputs.begin(), spec.inputs.end());
  op.inputs.clear();
  for (Slot slot : spec.inputs) op.inputs.push_back(graph.named(slot));
  op.outputs.assign(spec.outputs.begin(), spec.outputs.end());
  op.deletes.assign(spec.deletes.begin(), spec.deletes.end());
  op.results.clear();
  op.lenders.clear();
}

void Machine::State::apply(const ApplySpec& spec) {
  begin();
  load(spec);
  ++counters.applied;
  targets.clear();
  for (StorageId id : op.inputs) {
    Storage& storage = graph[id];
    ++storage.pins;
    if (storage.where != Where::memory) targets.push_back(id);
  }
  if (targets.empty()) return inputs_ready();
  for (StorageId id : op.inputs) {
    if (graph[id].error != 0) return poison_unmade(graph[id].error);
  }
  const bool views_only = std::all_of(op.outputs.begin(), op.outputs.end(), [](const OutputSpec& o) { return o.view_of >= 0; });
  if (views_only && !op.outputs.empty()) return inputs_ready();
  Need& need = own_need[op.device];
  need = need_of(op.workspace_bytes);
  for (const OutputSpec& output : op.outputs) {
    if (output.view_of < 0 && !op.measure) need = need + need_of(output.bytes);
  }
  plan.build(graph, targets);
  const bool possible = choose_plan();
  remember_plan();
  if (!possible) return apply_refused();
  run_plan(&State::inputs_ready, &State::apply_refused);
}

void Machine::State::inputs_ready() {
  for (StorageId id : op.inputs) {
    if (graph[id].error != 0) return poison_unmade(graph[id].error);
  }
  if (!op.measure) return make_outputs();
  operands.clear();
  for (StorageId id : op.inputs) operands.push_back(operand_of(id));
  Action& action = push(Action::Kind::measure);
  action.device = op.device;
  action.payload = op.payload;
  action.inputs = operands;
}

void Machine::State::measured(const Completion& completion) {
  if (completion.error != 0) return poison_unmade(completion.error);
  for (std::size_t i = 0; i < op.outputs.size(); ++i) op.outputs[i].bytes = completion.sizes[i];
  op.workspace_bytes = std::max(op.workspace_bytes, completion.workspace);
  make_outputs();
}

void Machine::State::make_outputs() {
  op.made = true;
  bool runs = op.outputs.empty();
  for (const OutputSpec& output : op.outputs) {
    if (output.view_of >= 0) {
      op.results.push_back(op.inputs[static_cast<std::size_t>(output.view_of)]);
    } else {
      runs = true;
      op.results.push_back(graph.add_storage(output.bytes, op.device));
      graph[op.results.back()].where = Where::pending;
      ++graph[op.results.back()].pins;
      ++counters.live;
    }
    graph.bind(output.slot, op.results.back());
  }
  unnamed.clear();
  for (Slot slot : op.deletes) unnamed.push_back(graph.unbind(slot));
  if (runs && keeps_recipe()) record();
  for (StorageId id : unnamed) died_if_unnamed(id);
  if (op.state) doom_readers_of_replaced();
  settle(runs ? &State::launch : &State::finish_views);
}

bool Machine::State::keeps_recipe() const noexcept {
  if (!recording || !op.replayable || op.state || op.outputs.empty()) return false;
  if (ledger.bounded()) return true;
  // A source that dies here is cut at once, this recipe with it.
  return std::none_of(op.inputs.begin(), op.inputs.end(), [this](StorageId id) {
    const Storage& storage = graph[id];
    return storage.slots + storage.exports == 0 && storage.recipe == none;
  });
}

void Machine::State::record() {
  op.recipe = graph.add_recipe(op.payload, op.device);
  Recipe& recipe = graph.recipe(op.recipe);
  recipe.key = op.key;
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
  if (!storage.dead || storage.foreign || storage.device != op.device || storage.where != Where::memory) return false;
  if (storage.recipe == none && graph.is_read(id)) return false;  // a recipe needs it as a source
  if (output.bytes == 0 || storage.place.bytes != Placement::rounded(output.bytes)) return false;
  std::uint32_t positions = 0;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i] != id) continue;
    if (i >= 32 || (output.reuse >> i & 1) == 0 || op.slots[i] != op.slots[input]) return false;  // another view of it is read
    ++positions;
  }
  return storage.pins == positions;
}

void Machine::State::choose_lenders() {
  for (const OutputSpec& output : op.outputs) {
    op.lenders.push_back(none);
    if (output.view_of >= 0 || output.reuse == 0 || op.fallible) continue;
    for (std::size_t i = 0; i < op.inputs.size() && i < 32; ++i) {
      const bool lent = std::find(op.lenders.begin(), op.lenders.end(), op.inputs[i]) != op.lenders.end();
      if ((output.reuse >> i & 1) == 0 || lent || !may_lend(i, output)) continue;
      op.lenders.back() = op.inputs[i];
      break;
    }
  }
}

void Machine::State::launch() {
  choose_lenders();
  sizes.clear();
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    const OutputSpec& output = op.outputs[i];
    if (output.view_of < 0 && op.lenders[i] == none && output.bytes > 0) sizes.push_back(output.bytes);
  }
  if (op.workspace_bytes > 0) sizes.push_back(op.workspace_bytes);
  if (!ledger.fits(op.device, sizes)) {
    short_device = op.device;
    return apply_refused();
  }
  operands.clear();
  for (StorageId id : op.inputs) operands.push_back(operand_of(id));
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (op.outputs[i].view_of < 0) {
      const StorageId lender = op.lenders[i];
      Place place;
      if (lender == none) {
        place = ledger.place(op.device, op.outputs[i].bytes, pages);
      } else {
        place = std::exchange(graph[lender].place, {});
        graph[lender].where = Where::nowhere;
      }
      graph[op.results[i]].place = place;
    }
    operands.push_back(operand_of(op.results[i]));
  }
  op.workspace = ledger.place(op.device, op.workspace_bytes, pages);
  ledger.note_workspace(op.device, op.workspace.bytes);
  push_pages(op.device);
  Action& action = push(Action::Kind::run);
  action.device = op.device;
  action.payload = op.payload;
  action.inputs = {operands.data(), op.inputs.size()};
  action.outputs = {operands.data() + op.inputs.size(), op.outputs.size()};
  action.workspace = op.workspace;
}

void Machine::State::finish_run(const Completion& completion) {
  ledger.release(op.device, op.workspace);
  for (StorageId lender : op.lenders) {
    if (lender == none) continue;
    note(Action::Kind::released, lender, Why::in_place);
    ++counters.in_place;
  }
  if (completion.error != 0) return poison_made(completion.error);
  if (op.recipe == none) {
    note_retired(op.payload);
  } else {
    graph.recipe(op.recipe).seconds = completion.seconds;
  }
  op.active = false;
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (op.outputs[i].view_of >= 0) continue;
    graph[op.results[i]].where = Where::memory;
    unpin(op.results[i]);
  }
  for (StorageId id : op.inputs) unpin(id);
  settle(nullptr);
}

void Machine::State::finish_views() {
  op.active = false;
  note_retired(op.payload);
  for (StorageId id : op.inputs) unpin(id);
  settle(nullptr);
}

void Machine::State::name_poisoned(std::span<const Slot> slots, ErrorId error) {
  for (Slot slot : slots) graph.bind(slot, poisoned_storage(op.device, error));
}

void Machine::State::unname(std::span<const Slot> slots) {
  for (Slot slot : slots) died_if_unnamed(graph.unbind(slot));
}

void Machine::State::poison_unmade(ErrorId error) {
  for (const OutputSpec& output : op.outputs) graph.bind(output.slot, poisoned_storage(op.device, error));
  op.active = false;
  note_retired(op.payload);
  for (StorageId id : op.inputs) unpin(id);
  unname(op.deletes);
  if (op.refused) roll_back(0, true);
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
      graph.bind(output.slot, poisoned_storage(op.device, error));
      died_if_unnamed(op.results[i]);
      continue;
    }
    const StorageId id = op.results[i];
    if (graph[id].recipe != none) detach(id);
    ledger.release(op.device, std::exchange(graph[id].place, {}));
    graph[id].where = Where::nowhere;
    graph[id].error = error;
  }
  if (recipe != none) {
    remove_recipe(recipe);
    sweep();
  } else {
    note_retired(op.payload);
  }
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (op.outputs[i].view_of < 0) unpin(op.results[i]);
  }
  for (StorageId id : op.inputs) unpin(id);
  if (op.refused) roll_back(0, true);
  settle(nullptr);
}

void Machine::State::apply_refused() {
  Need need = need_of(op.workspace_bytes);
  for (const OutputSpec& output : op.outputs) {
    if (output.view_of < 0) need = need + need_of(output.bytes);
  }
  std::size_t operands_bytes = 0;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const Storage& storage = graph[op.inputs[i]];
    const bool first = std::find(op.inputs.begin(), op.inputs.begin() + static_cast<std::ptrdiff_t>(i), op.inputs[i]) ==
                       op.inputs.begin() + static_cast<std::ptrdiff_t>(i);
    if (first && !storage.foreign && storage.device == short_device) operands_bytes += need_of(storage.bytes).occupied;
  }
  on_refused = &State::apply_answered;
  refuse(short_device == op.device ? need : Need{}, operands_bytes);
}

void Machine::State::apply_answered(ErrorId error) {
  op.refused = true;
  op.made ? poison_made(error) : poison_unmade(error);
}

}  // namespace regrow::machine
