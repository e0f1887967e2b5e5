// SPDX-License-Identifier: Apache-2.0
// Carrying a plan out: reads, recomputations, and the way back if it does not fit after all.
#include "regrow/machine/state.h"

namespace regrow::machine {

bool Machine::State::surely_fits(bool evictions) noexcept {
  for (std::uint8_t device = 0; device < ledger.devices(); ++device) {
    if (ledger.limit(device) == 0) continue;
    const std::size_t most_charged = std::max(plan.peak(device).charged, plan.after(device).charged + own_need[device].charged);
    std::size_t standing_charged = ledger.charged(device);
    if (evictions) standing_charged -= offered_bytes[device] - pinned_offers(device);
    if (standing_charged + most_charged > ledger.limit(device)) {
      short_device = device;
      return false;
    }
  }
  return true;
}

// Large storages that were offered to the policy, and are pinned by the command or its plan.
std::size_t Machine::State::pinned_offers(std::uint8_t device) const noexcept {
  std::size_t bytes = 0;
  const auto add = [&](const Storage& storage) {
    if (storage.offered && storage.device == device && storage.place.bytes >= granule) bytes += storage.place.bytes;
  };
  for (StorageId id : plan_pins) add(graph[id]);
  if (!op.active) return bytes;
  for (auto id = op.inputs.begin(); id != op.inputs.end(); ++id) {
    if (!graph[*id].plan_pin && std::find(op.inputs.begin(), id, *id) == id) add(graph[*id]);
  }
  return bytes;
}

bool Machine::State::choose_plan() {
  plan.estimate(graph, ledger.devices(), false);
  if (!ledger.bounded() || surely_fits(false)) return true;
  plan.estimate(graph, ledger.devices(), true);
  if (evicting) return true;  // as a rule it fits, and what that takes is only known when it has been tried
  for (std::uint8_t device = 0; device < ledger.devices(); ++device) {
    if (ledger.limit(device) == 0) continue;
    if (ledger.occupied(device) + plan.peak(device).occupied > ledger.limit(device)) {
      short_device = device;
      return false;
    }
  }
  return true;
}

void Machine::State::pin_plan() {
  for (StorageId id : standing) plan_pin(id);
  for (const Plan::Step& each : plan.steps()) {
    if (!each.regrow) continue;
    for (EdgeId edge = graph.recipe(each.id).inputs; edge != none; edge = graph.edge(edge).next_input) {
      if (graph[graph.edge(edge).storage].where == Where::memory) plan_pin(graph.edge(edge).storage);
    }
  }
}

void Machine::State::run_plan(Stage ready, Stage refused_stage, Stage again) {
  plan_ready = ready;
  plan_refused = refused_stage;
  plan_again = again;
  brought_before = brought.size();
  step = 0;
  bounded = false;
  for (std::uint8_t device = 0; device < ledger.devices(); ++device) {
    last_plan[device] = {.peak_bytes = ledger.occupied(device) + plan.peak(device).occupied};
  }
  if (evicting) pin_plan();
  resume = &State::plan_step;
}

void Machine::State::plan_step() {
  if (step == plan.steps().size()) return end_plan(plan_ready);
  const Plan::Step& now = plan.steps()[step];
  now.regrow ? regrow(now.id) : read_back(now.id);
}

void Machine::State::end_plan(Stage then) {
  for (std::size_t i = 0; inputs_unpinned && i < op.inputs.size(); ++i) ++graph[op.inputs[i]].pins;
  inputs_unpinned = false;
  while (!frames.empty()) pop_frame();
  for (StorageId id : plan_pins) plan_unpin(id);
  plan_pins.clear();
  for (std::size_t i = brought_before; bounded && i < brought.size(); ++i) {
    const Storage& storage = graph[brought[i].storage];
    if (!storage.exists || !storage.dead) continue;
    let_ghost_go(brought[i].storage);
  }
  bounded = false;
  resume = then;
}

void Machine::State::plan_pin(StorageId id) {
  if (graph[id].plan_pin) return;
  graph[id].plan_pin = true;
  ++graph[id].pins;
  plan_pins.push_back(id);
}

void Machine::State::plan_unpin(StorageId id) {
  if (!graph[id].plan_pin) return;
  graph[id].plan_pin = false;
  let_go(id);
}

void Machine::State::let_go(StorageId id) {
  Storage& storage = graph[id];
  if (--storage.pins > 0) return;
  if (storage.dead && !graph.is_read(id)) return dispose(id);
  tell_used(id);
  if (storage.dead && !bounded) let_ghost_go(id);
}

// A ghost keeps the bytes that a plan gave it while something is expected to need them again.
void Machine::State::let_ghost_go(StorageId id) {
  const Storage& storage = graph[id];
  if (storage.recipe == none || storage.pins > 0) return;
  if (storage.where == Where::host) return forget_host(id);
  if (storage.where != Where::memory) return;
  if (!evicting || !eviction.policy->expects_use(id)) release(id, Why::temporary);
}

void Machine::State::short_of_room() {
  if (!evicting || plan_ready == &State::next_cut) return abandon_plan();
  if (!bounded) return begin_bounded();
  if (graph.spills() || !unpin_farthest()) return abandon_plan();
  resume = &State::bounded_step;
}

void Machine::State::abandon_plan() {
  end_plan(plan_refused);
  roll_back(brought_before, true);
}

void Machine::State::read_back(StorageId id) {
  if (graph[id].transfer == Transfer::in) return await(id);
  const std::uint8_t device = graph[id].device;
  sizes.assign(graph[id].bytes > 0 ? 1 : 0, graph[id].bytes);
  if (const Room room = make_room(device, bounded ? &State::bounded_step : &State::plan_step); room != Room::there) {
    return room == Room::waits ? void() : short_of_room();
  }
  graph[id].place = ledger.place(device, graph[id].bytes, pages);
  push_pages(device);
  Action& action = queue.push(Action::Kind::swap_in, device);
  action.regrow = graph[id].recipe != none;
  action.keep = graph.spills();
  action.operand = operand_of(id);
}

// It is recomputed if a recipe says how, by a plan of its own; else it is lost, with what was to be computed from it.
void Machine::State::not_read_back(StorageId id, ErrorId error) {
  Storage& storage = graph[id];
  ledger.release(storage.device, std::exchange(storage.place, {}));
  ledger.remove_swapped(storage.device, storage.bytes);
  storage.where = Where::nowhere;
  storage.copied = false;
  tell_left(id);
  const bool again = storage.recipe != none;
  if (!again) lose_value(id, error);
  end_plan(again ? plan_again : plan_ready);
  roll_back(brought_before, again);
}

void Machine::State::swapped_in(StorageId id, const Completion& completion) {
  if (completion.error != 0) return not_read_back(id, completion.error);
  Storage& storage = graph[id];
  storage.where = Where::memory;
  storage.copied = graph.spills();
  if (!storage.copied) ledger.remove_swapped(storage.device, storage.bytes);
  if (evicting) eviction.policy->moved(storage.bytes, completion.seconds, false);
  ++counters.swapped_in;
  ++last_plan[storage.device].reads;
  brought.push_back({id, true});
  tell_entered(id);
  tell_used(id);
  if (evicting && !bounded) plan_pin(id);
  ++step;
  resume = bounded ? &State::bounded_step : &State::plan_step;
}

void Machine::State::regrow(RecipeId id) {
  const Recipe& recipe = graph.recipe(id);
  running = id;
  sizes.clear();
  for (const Output& output : recipe.outputs) {
    if (output.view_of < 0 && output.bytes > 0) sizes.push_back(output.bytes);
  }
  if (recipe.workspace > 0) sizes.push_back(recipe.workspace);
  if (const Room room = make_room(recipe.device, bounded ? &State::bounded_step : &State::plan_step); room != Room::there) {
    return room == Room::waits ? void() : short_of_room();
  }
  operands.clear();
  for (EdgeId edge = recipe.inputs; edge != none; edge = graph.edge(edge).next_input) {
    operands.push_back(operand_of(graph.edge(edge).storage));
  }
  const std::size_t inputs = operands.size();
  place_regrown(recipe);
  const Place workspace = ledger.place(recipe.device, recipe.workspace, pages);
  if (workspace.bytes > 0) passing.push_back(workspace);
  ledger.note_workspace(recipe.device, workspace.bytes);
  push_pages(recipe.device);
  Action& action = queue.push(Action::Kind::run, recipe.device);
  action.regrow = true;
  action.payload = recipe.payload;
  action.inputs = {operands.data(), inputs};
  action.outputs = {operands.data() + inputs, operands.size() - inputs};
  action.workspace = workspace;
}

void Machine::State::place_regrown(const Recipe& recipe) {
  passing.clear();
  made.clear();
  for (const Output& output : recipe.outputs) {
    if (output.view_of >= 0) {
      operands.push_back(operands[static_cast<std::size_t>(output.view_of)]);
      continue;
    }
    const Place place = ledger.place(recipe.device, output.bytes, pages);
    if (output.storage != none && graph[output.storage].where == Where::nowhere) {
      graph[output.storage].place = place;
      made.push_back(output.storage);
      operands.push_back(operand_of(output.storage));
    } else {
      passing.push_back(place);
      operands.push_back({.storage = output.storage, .device = recipe.device, .place = place});
    }
  }
}

// What runs again makes nothing after all.
void Machine::State::give_step_back() {
  const std::uint8_t device = graph.recipe(running).device;
  for (const Place& place : passing) ledger.release(device, place);
  for (StorageId each : made) ledger.release(device, std::exchange(graph[each].place, {}));
}

void Machine::State::regrown(const Completion& completion) {
  const RecipeId id = running;
  const std::uint8_t device = graph.recipe(id).device;
  ++counters.recomputed;
  counters.recompute_seconds += completion.seconds;
  if (completion.error != 0) {
    give_step_back();
    lose(id, completion.error);
    end_plan(plan_ready);
    return roll_back(brought_before, false);
  }
  for (const Place& place : passing) ledger.release(device, place);
  graph.recipe(id).seconds = expected_seconds(graph.recipe(id).key, completion.seconds, true);
  ++last_plan[device].operations;
  for (StorageId each : made) {
    graph[each].where = Where::memory;
    brought.push_back({each, false});
    tell_entered(each);
    tell_used(each);
    if (evicting && !bounded) plan_pin(each);
  }
  if (bounded) return bounded_ran();
  for (const auto [last, from_nothing] : plan.lasts(plan.steps()[step])) {
    if (evicting) plan_unpin(last);
    else if (from_nothing && (plan.lean() || graph[last].dead)) release(last, Why::temporary);
  }
  ++step;
  resume = &State::plan_step;
}

void Machine::State::roll_back(std::size_t first, bool live_too) {
  for (std::size_t i = first; i < brought.size(); ++i) {
    const auto [id, from_host] = brought[i];
    const Storage& storage = graph[id];
    if (!storage.exists || storage.where != Where::memory) continue;
    if (from_host && live_too && storage.copied) {
      release(id, Why::swapped);
    } else if (from_host && live_too) {
      queue.push(Action::Kind::swap_out, storage.device).operand = operand_of(id);
    } else if (!from_host && storage.recipe != none && (live_too || storage.dead)) {
      release(id, Why::temporary);
    }
  }
  brought.resize(first);
}

void Machine::State::swapped_out(StorageId id, const Completion& completion) {
  const bool evicted = std::exchange(evictee, none) == id;
  if (completion.error != 0) return evicted ? not_written(id) : void();  // it stays
  Storage& storage = graph[id];
  storage.copied = true;
  ledger.add_swapped(storage.device, storage.bytes);
  release(id, Why::swapped);
  ++(evicted ? counters.written : counters.swapped_out);
  if (evicting) eviction.policy->moved(storage.bytes, completion.seconds, true);
}

}  // namespace regrow::machine
