// SPDX-License-Identifier: Apache-2.0
// Carrying a plan out: reads, recomputations, and the way back if it does not fit after all.
#include "regrow/machine/state.h"

namespace regrow::machine {

bool Machine::State::has_room(std::uint8_t device) {
  if (ledger.fits(device, sizes)) [[likely]] return true;
  short_device = device;
  return false;
}

bool Machine::State::surely_fits() noexcept {
  for (std::uint8_t device = 0; device < ledger.devices(); ++device) {
    if (ledger.limit(device) == 0) continue;
    const std::size_t most_charged = std::max(plan.peak(device).charged, plan.after(device).charged + own_need[device].charged);
    if (ledger.charged(device) + most_charged > ledger.limit(device)) {
      short_device = device;
      return false;
    }
  }
  return true;
}

bool Machine::State::choose_plan() {
  plan.estimate(graph, ledger.devices(), false);
  if (!ledger.bounded() || surely_fits()) return true;
  plan.estimate(graph, ledger.devices(), true);
  for (std::uint8_t device = 0; device < ledger.devices(); ++device) {
    if (ledger.limit(device) == 0) continue;
    if (ledger.occupied(device) + plan.peak(device).occupied > ledger.limit(device)) {
      short_device = device;
      return false;
    }
  }
  return true;
}

void Machine::State::run_plan(Stage ready, Stage refused_stage) {
  plan_ready = ready;
  plan_refused = refused_stage;
  brought_before = brought.size();
  step = 0;
  for (std::uint8_t device = 0; device < ledger.devices(); ++device) {
    last_plan[device] = {.peak_bytes = ledger.occupied(device) + plan.peak(device).occupied};
  }
  resume = &State::plan_step;
}

void Machine::State::plan_step() {
  if (step == plan.steps().size()) {
    resume = plan_ready;
    return;
  }
  const Plan::Step& now = plan.steps()[step];
  if (now.regrow) return regrow(now.id);
  const Storage& storage = graph[now.id];
  sizes.assign(storage.bytes > 0 ? 1 : 0, storage.bytes);
  if (!has_room(storage.device)) return abandon_plan();
  graph[now.id].place = ledger.place(storage.device, storage.bytes, pages);
  push_pages(storage.device);
  queue.push(Action::Kind::swap_in, storage.device).operand = operand_of(now.id);
}

void Machine::State::abandon_plan() {
  roll_back(brought_before, true);
  resume = plan_refused;
}

void Machine::State::swapped_in(StorageId id) {
  Storage& storage = graph[id];
  storage.where = Where::memory;
  ledger.remove_swapped(storage.device, storage.bytes);
  ++counters.swapped_in;
  ++last_plan[storage.device].reads;
  brought.push_back({id, true});
  ++step;
  resume = &State::plan_step;
}

void Machine::State::regrow(RecipeId id) {
  const Recipe& recipe = graph.recipe(id);
  const std::uint8_t device = recipe.device;
  sizes.clear();
  for (const Output& output : recipe.outputs) {
    if (output.view_of < 0 && output.bytes > 0) sizes.push_back(output.bytes);
  }
  if (recipe.workspace > 0) sizes.push_back(recipe.workspace);
  if (!has_room(device)) return abandon_plan();
  operands.clear();
  for (EdgeId edge = recipe.inputs; edge != none; edge = graph.edge(edge).next_input) {
    operands.push_back(operand_of(graph.edge(edge).storage));
  }
  const std::size_t inputs = operands.size();
  passing.clear();
  made.clear();
  for (const Output& output : recipe.outputs) {
    if (output.view_of >= 0) {
      operands.push_back(operands[static_cast<std::size_t>(output.view_of)]);
      continue;
    }
    const Place place = ledger.place(device, output.bytes, pages);
    if (output.storage != none && graph[output.storage].where == Where::nowhere) {
      graph[output.storage].place = place;
      made.push_back(output.storage);
      operands.push_back(operand_of(output.storage));
    } else {
      passing.push_back(place);
      operands.push_back({.storage = output.storage, .device = device, .place = place});
    }
  }
  const Place workspace = ledger.place(device, recipe.workspace, pages);
  if (workspace.bytes > 0) passing.push_back(workspace);
  ledger.note_workspace(device, workspace.bytes);
  push_pages(device);
  Action& action = queue.push(Action::Kind::run, device);
  action.regrow = true;
  action.payload = recipe.payload;
  action.inputs = {operands.data(), inputs};
  action.outputs = {operands.data() + inputs, operands.size() - inputs};
  action.workspace = workspace;
}

void Machine::State::regrown(const Completion& completion) {
  const Plan::Step now = plan.steps()[step];
  const std::uint8_t device = graph.recipe(now.id).device;
  for (const Place& place : passing) ledger.release(device, place);
  ++counters.recomputed;
  counters.recompute_seconds += completion.seconds;
  if (completion.error != 0) {
    for (StorageId id : made) {
      ledger.release(device, graph[id].place);
      graph[id].place = {};
    }
    lose(now.id, completion.error);
    roll_back(brought_before, false);
    resume = plan_ready;
    return;
  }
  graph.recipe(now.id).seconds = completion.seconds;
  ++last_plan[device].operations;
  for (StorageId id : made) {
    graph[id].where = Where::memory;
    brought.push_back({id, false});
  }
  for (StorageId id : plan.frees(now)) {
    if (plan.lean() || graph[id].dead) release(id, Why::temporary);
  }
  ++step;
  resume = &State::plan_step;
}

void Machine::State::roll_back(std::size_t first, bool live_too) {
  for (std::size_t i = first; i < brought.size(); ++i) {
    const auto [id, from_host] = brought[i];
    const Storage& storage = graph[id];
    if (!storage.exists || storage.where != Where::memory) continue;
    if (from_host && live_too) {
      queue.push(Action::Kind::swap_out, storage.device).operand = operand_of(id);
    } else if (!from_host && storage.recipe != none && (live_too || storage.dead)) {
      release(id, Why::temporary);
    }
  }
  brought.resize(first);
}

void Machine::State::swapped_out(StorageId id, ErrorId error) {
  if (error != 0) return;  // it stays
  release(id, Why::swapped);
  graph[id].where = Where::host;
  ledger.add_swapped(graph[id].device, graph[id].bytes);
  ++counters.swapped_out;
}

}  // namespace regrow::machine
