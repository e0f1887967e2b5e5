// SPDX-License-Identifier: Apache-2.0
// How storages and recipes end: what dies lives on, without its bytes, while a recipe reads it; what nothing reads goes, and takes
// along what was kept for it alone.
#include <utility>

#include "regrow/machine/state.h"

namespace regrow::machine {

void Machine::State::died_if_unnamed(StorageId id) {
  Storage& storage = graph[id];
  if (storage.slots + storage.exports > 0 || storage.dead) return;
  storage.dead = true;
  --counters.live;
  const GroupId group = storage.recipe == none ? none : graph.recipe(storage.recipe).group;
  if (group != none) keeping.frontier_shrank(group, storage.bytes);
  if (!graph.is_read(id)) {
    if (storage.pins == 0) dispose(id);
    return;
  }
  ++dead;
  storage.kept = true;
  storage.older = newest_dead;
  storage.newer = none;
  (newest_dead == none ? oldest_dead : graph[newest_dead].newer) = id;
  newest_dead = id;
  if (storage.recipe == none) {
    storage.held = true;
    keeping.hold(keeping.gather(id), storage.bytes);
  } else {
    if (group != none) keeping.gather(id, group);
    if (storage.pins == 0) give_up_bytes(id, Why::deleted);
  }
}

void Machine::State::unpin(StorageId id) {
  Storage& storage = graph[id];
  if (--storage.pins > 0) return;
  if (!storage.dead) return tell_used(id);
  if (!graph.is_read(id)) return dispose(id);
  if (storage.recipe != none) return give_up_bytes(id, Why::deleted);
  tell_used(id);  // held, and with spilling it may go
}

void Machine::State::release(StorageId id, Why why) {
  cancel_transfer(id);
  note(Action::Kind::released, id, why);
  Storage& storage = graph[id];
  storage.where = why == Why::swapped ? Where::host : Where::nowhere;
  ledger.release(storage.device, std::exchange(storage.place, {}));
  if (why != Why::swapped) forget_copy(id);
  tell_left(id);
}

void Machine::State::forget_copy(StorageId id) {
  Storage& storage = graph[id];
  if (!storage.copied) return;
  storage.copied = false;
  ledger.remove_swapped(storage.device, storage.bytes);
  note(Action::Kind::forget_swap, id, Why::deleted);
}

void Machine::State::forget_host(StorageId id) {
  cancel_transfer(id);
  graph[id].where = Where::nowhere;
  forget_copy(id);
  tell_left(id);
}

void Machine::State::give_up_bytes(StorageId id, Why why) {
  if (graph[id].where == Where::host) return forget_host(id);
  if (graph[id].where == Where::memory && !graph[id].foreign) release(id, why);
}

void Machine::State::unlink_dead(StorageId id) {
  Storage& storage = graph[id];
  (storage.older == none ? oldest_dead : graph[storage.older].newer) = storage.newer;
  (storage.newer == none ? newest_dead : graph[storage.newer].older) = storage.older;
  storage.kept = false;
  --dead;
}

void Machine::State::dispose(StorageId id) {
  unused.push_back(id);
  sweep();
}

void Machine::State::sweep() {
  while (!unused.empty()) {
    const StorageId id = unused.back();
    unused.pop_back();
    give_up_bytes(id, Why::deleted);
    const bool ghost = graph[id].kept;
    if (ghost) unlink_dead(id);
    const RecipeId recipe = graph[id].recipe;
    if (recipe != none) {
      graph.forget_recipe(id);
      if (graph.recipe(recipe).outputs_left == 0) remove_recipe(recipe);
    }
    note(Action::Kind::erased, id, ghost ? Why::cascade : Why::deleted);
    if (evicting) eviction.policy->erased(id);
    graph.remove_storage(id);
  }
}

void Machine::State::remove_recipe(RecipeId id) {
  const GroupId group = graph.recipe(id).group;
  while (graph.recipe(id).inputs != none) {
    const StorageId input = graph.remove_first_input(id);
    Storage& storage = graph[input];
    if (!storage.dead || graph.is_read(input)) continue;
    if (storage.held) {
      storage.held = false;
      keeping.let_go(group, storage.bytes);
    }
    if (storage.pins == 0) unused.push_back(input);
  }
  if (group != none) keeping.leave(id);
  if (op.active && op.recipe == id) {
    op.recipe = none;  // it retires when it has run
  } else {
    note_retired(graph.recipe(id).payload);
  }
  graph.remove_recipe(id);
}

void Machine::State::detach(StorageId id) {
  const GroupId group = graph.recipe(graph[id].recipe).group;
  if (group != none && graph.live(id)) keeping.frontier_shrank(group, graph[id].bytes);
  graph.forget_recipe(id);
  tell_left(id);
  tell_entered(id);  // it may still be written out
}

void Machine::State::poison(StorageId id, ErrorId error) {
  give_up_bytes(id, Why::deleted);
  graph[id].where = Where::nowhere;
  graph[id].error = error;
}

void Machine::State::lose(RecipeId first, ErrorId error) {
  lost.push_back(first);
  lose_all(error);
}

void Machine::State::lose_value(StorageId id, ErrorId error) {
  for (EdgeId edge = graph[id].users; edge != none; edge = graph.edge(edge).next_user) lost.push_back(graph.edge(edge).recipe);
  if (!graph[id].dead) graph[id].error = error;
  lose_all(error);
}

void Machine::State::lose_all(ErrorId error) {
  while (!lost.empty()) {
    const RecipeId id = lost.back();
    lost.pop_back();
    if (!graph.recipe(id).exists) continue;
    for (std::size_t i = 0; i < graph.recipe(id).outputs.size(); ++i) {
      const StorageId output = graph.recipe(id).outputs[i].storage;
      if (output == none) continue;
      detach(output);
      const Storage& storage = graph[output];
      if (!storage.dead && storage.where != Where::nowhere) continue;  // its value is there: a source from now on
      for (EdgeId edge = storage.users; edge != none; edge = graph.edge(edge).next_user) lost.push_back(graph.edge(edge).recipe);
      if (!storage.dead) poison(output, error);
    }
    remove_recipe(id);
  }
  sweep();
}

StorageId Machine::State::poisoned_storage(std::uint8_t device, ErrorId error) {
  const StorageId id = graph.add_storage(0, device);
  graph[id].error = error;
  ++counters.live;
  return id;
}

}  // namespace regrow::machine
