// SPDX-License-Identifier: Apache-2.0
// Every invariant of the machine, by full traversal: for tests.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "regrow/machine/state.h"

namespace regrow::machine {
namespace {

template <class... A>
void hold(bool ok, fmt::format_string<A...> text, A&&... args) {
  if (!ok) throw std::logic_error("machine: " + fmt::format(text, std::forward<A>(args)...));
}

// The edges and outputs of recipes; how often each storage is read.
std::vector<std::uint32_t> check_recipes(const Graph& graph) {
  std::vector<std::uint32_t> readers(graph.most_storages());
  std::uint32_t recipes = 0;
  for (RecipeId r = 0; r < graph.most_recipes(); ++r) {
    const Recipe& recipe = graph.recipe(r);
    if (!recipe.exists) continue;
    ++recipes;
    for (EdgeId e = recipe.inputs; e != none; e = graph.edge(e).next_input) {
      hold(graph.edge(e).recipe == r, "edge {} is in the list of recipe {} and not its own", e, r);
      hold(graph[graph.edge(e).storage].exists, "recipe {} reads storage {}, which does not exist", r, graph.edge(e).storage);
      ++readers[graph.edge(e).storage];
    }
    std::uint32_t left = 0;
    for (const Output& output : recipe.outputs) {
      if (output.storage == none) continue;
      ++left;
      hold(graph[output.storage].exists && graph[output.storage].recipe == r, "output {} of recipe {} does not refer to it",
           output.storage, r);
    }
    hold(left > 0 && left == recipe.outputs_left, "recipe {} has {} outputs and counts {}", r, left, recipe.outputs_left);
  }
  hold(recipes == graph.recipes(), "{} recipes exist, {} are counted", recipes, graph.recipes());
  return readers;
}

std::vector<std::uint32_t> check_slots(const Graph& graph) {
  std::vector<std::uint32_t> slots(graph.most_storages());
  for (Slot slot = 0; slot < graph.most_slots(); ++slot) {
    const StorageId id = graph.named(slot);
    if (id == none) continue;
    hold(id < graph.most_storages() && graph[id].exists, "slot {} names storage {}, which does not exist", slot, id);
    ++slots[id];
  }
  return slots;
}

// Names and lifetimes of storages, the lists of their readers, and the list of the dead.
void check_storages(const Machine::State& state) {
  const Graph& graph = state.graph;
  const std::vector<std::uint32_t> readers = check_recipes(graph), slots = check_slots(graph);
  std::size_t live = 0, dead = 0, listed = 0;
  for (StorageId id = 0; id < graph.most_storages(); ++id) {
    const Storage& storage = graph[id];
    if (!storage.exists) continue;
    hold(storage.slots == slots[id], "storage {} counts {} slots, {} name it", id, storage.slots, slots[id]);
    hold(storage.dead == (storage.slots + storage.exports == 0), "storage {}: dead or not", id);
    hold(storage.pins == 0, "storage {} is pinned between commands", id);
    hold(storage.where != Where::pending, "storage {} is pending between commands", id);
    const bool may_go = storage.where == Where::memory && (storage.recipe != none || state.graph.spills()) &&
                        storage.exports == 0 && !storage.foreign && storage.place.bytes > 0 &&
                        storage.bytes >= state.eviction.least_bytes;
    hold(!state.evicting || storage.offered == may_go, "storage {}: offered to the policy or not", id);
    std::uint32_t users = 0;
    EdgeId last = none;
    for (EdgeId e = storage.users; e != none; e = graph.edge(e).next_user) {
      hold(graph.edge(e).storage == id && graph.edge(e).last_user == last, "list of the readers of storage {} is broken", id);
      last = e;
      ++users;
    }
    hold(users == readers[id], "storage {} lists {} readers, {} read it", id, users, readers[id]);
    hold(!storage.dead || users > 0, "storage {} is dead and kept without a reason", id);
    hold(storage.kept == storage.dead && storage.held == (storage.dead && storage.recipe == none), "storage {}: kept or held",
         id);
    hold(storage.recipe == none || graph.recipe(storage.recipe).exists, "storage {} has a recipe that does not exist", id);
    ++(storage.dead ? dead : live);
  }
  hold(dead == state.dead && live == state.counters.live, "{} live and {} dead, counted {} and {}", live, dead,
       state.counters.live, state.dead);
  for (StorageId id = state.oldest_dead; id != none; id = graph[id].newer) {
    hold(graph[id].kept && (graph[id].newer == none ? state.newest_dead == id : graph[graph[id].newer].older == id),
         "list of the dead is broken at storage {}", id);
    ++listed;
  }
  hold(listed == dead, "{} dead in the list of {}", listed, dead);
}

// What is resident is what the placements hold, within the budget.
void check_ledger(const Machine::State& state) {
  const Graph& graph = state.graph;
  std::vector<std::size_t> occupied(state.ledger.devices()), swapped(state.ledger.devices());
  for (StorageId id = 0; id < graph.most_storages(); ++id) {
    const Storage& storage = graph[id];
    if (!storage.exists) continue;
    const bool arrives = storage.transfer == Transfer::in;
    const bool placed = (storage.where == Where::memory || arrives) && !storage.foreign && storage.bytes > 0;
    const auto under_way = std::count(state.under_way.begin(), state.under_way.end(), id);
    hold(storage.transfer == Transfer::none ? under_way == 0
                                            : under_way == 1 && storage.where == (arrives ? Where::host : Where::memory),
         "storage {} is on the way, or not", id);
    hold(storage.place.bytes == (placed ? Placement::rounded(storage.bytes) : 0), "storage {} of {} bytes occupies {}", id,
         storage.bytes, storage.place.bytes);
    occupied[storage.device] += storage.place.bytes;
    if (storage.copied) swapped[storage.device] += storage.bytes;
    hold(storage.where == Where::host ? storage.copied : !storage.copied || (storage.where == Where::memory && graph.spills()),
         "storage {}: a copy is missing, or of no use", id);
    hold(storage.exports == 0 || storage.where == Where::memory, "storage {} is exported and not resident", id);
    hold(!storage.foreign || storage.where == Where::memory, "storage {} is foreign and not resident", id);
    hold(!storage.dead || storage.recipe == none || storage.where == Where::nowhere || state.evicting, "ghost {} has bytes", id);
    hold(storage.error == 0 || (storage.where == Where::nowhere && storage.recipe == none && storage.users == none),
         "storage {} is poisoned and has more than an error", id);
  }
  for (std::uint8_t device = 0; device < state.ledger.devices(); ++device) {
    const Usage usage = state.ledger.usage(device);
    hold(usage.live_bytes == occupied[device], "device {}: storages occupy {}, the placement {}", device, occupied[device],
         usage.live_bytes);
    hold(usage.swapped_bytes == swapped[device], "device {}: {} bytes are swapped, {} counted", device, swapped[device],
         usage.swapped_bytes);
    hold(usage.budget_bytes == 0 || usage.committed_bytes <= usage.budget_bytes, "device {}: {} committed, the budget is {}",
         device, usage.committed_bytes, usage.budget_bytes);
    hold(usage.peak_bytes >= usage.live_bytes, "device {}: the peak is below what is live", device);
  }
}

// Every value that somebody may ask for is there or can be made; every ghost serves something live.
void check_reachable(const Machine::State& state) {
  const Graph& graph = state.graph;
  std::vector<std::uint32_t> missing(graph.most_recipes());
  std::vector<bool> there(graph.most_storages());
  std::vector<StorageId> stack;
  const auto reach = [&](StorageId id) {
    if (there[id]) return;
    there[id] = true;
    stack.push_back(id);
  };
  for (RecipeId r = 0; r < graph.most_recipes(); ++r) {
    if (!graph.recipe(r).exists) continue;
    for (EdgeId e = graph.recipe(r).inputs; e != none; e = graph.edge(e).next_input) ++missing[r];
    if (missing[r] > 0) continue;
    for (const Output& output : graph.recipe(r).outputs) {
      if (output.storage != none) reach(output.storage);
    }
  }
  for (StorageId id = 0; id < graph.most_storages(); ++id) {
    if (graph[id].exists && (graph[id].where == Where::memory || graph[id].where == Where::host)) reach(id);
  }
  while (!stack.empty()) {
    const StorageId id = stack.back();
    stack.pop_back();
    for (EdgeId e = graph[id].users; e != none; e = graph.edge(e).next_user) {
      if (--missing[graph.edge(e).recipe] > 0) continue;
      for (const Output& output : graph.recipe(graph.edge(e).recipe).outputs) {
        if (output.storage != none) reach(output.storage);
      }
    }
  }
  std::vector<bool> serves(graph.most_storages());
  for (StorageId id = 0; id < graph.most_storages(); ++id) {
    if (!graph[id].exists) continue;
    hold(there[id] || graph[id].error != 0, "storage {} is lost: not resident, and its recipe cannot run", id);
    if (!graph[id].dead) serves[id] = true, stack.push_back(id);
  }
  while (!stack.empty()) {
    const RecipeId r = graph[stack.back()].recipe;
    stack.pop_back();
    if (r == none) continue;
    for (EdgeId e = graph.recipe(r).inputs; e != none; e = graph.edge(e).next_input) {
      const StorageId id = graph.edge(e).storage;
      if (!serves[id]) serves[id] = true, stack.push_back(id);
    }
  }
  for (StorageId id = 0; id < graph.most_storages(); ++id)
    hold(!graph[id].exists || serves[id], "ghost {} serves nothing live", id);
}

// Groups are complete, their sums right, and none that must be cut has been left.
void check_keeping(const Machine::State& state) {
  const Graph& graph = state.graph;
  std::size_t in_groups = 0, grouped = 0;
  for (RecipeId r = 0; r < graph.most_recipes(); ++r) in_groups += graph.recipe(r).exists && graph.recipe(r).group != none;
  const auto same_group = [&](StorageId dead, GroupId id) {
    for (EdgeId e = graph[dead].users; e != none; e = graph.edge(e).next_user) {
      hold(graph.recipe(graph.edge(e).recipe).group == id, "a reader of dead storage {} is not in group {}", dead, id);
    }
  };
  for (GroupId g = 0; g < state.keeping.most_groups(); ++g) {
    const Group& group = state.keeping[g];
    if (!group.exists) continue;
    std::size_t size = 0, held_bytes = 0, frontier_bytes = 0;
    std::vector<StorageId> held;
    for (RecipeId r = group.recipes; r != none; r = graph.recipe(r).next_in_group) {
      hold(graph.recipe(r).group == g, "recipe {} is in the list of group {} and not in it", r, g);
      ++size;
      for (const Output& output : graph.recipe(r).outputs) {
        if (output.storage == none) continue;
        if (graph[output.storage].dead) same_group(output.storage, g);
        frontier_bytes += graph[output.storage].dead ? 0 : output.bytes;
      }
      for (EdgeId e = graph.recipe(r).inputs; e != none; e = graph.edge(e).next_input) {
        if (graph[graph.edge(e).storage].held) held.push_back(graph.edge(e).storage);
      }
    }
    std::sort(held.begin(), held.end());
    held.erase(std::unique(held.begin(), held.end()), held.end());
    for (StorageId id : held) held_bytes += graph[id].bytes, same_group(id, g);
    grouped += size;
    hold(size == group.size && held.size() == group.held && held_bytes == group.held_bytes &&
             frontier_bytes == group.frontier_bytes,
         "group {}: {} recipes, {} held ({} bytes), frontier {}; counted {}, {}, {}, {}", g, size, held.size(), held_bytes,
         frontier_bytes, group.size, group.held, group.held_bytes, group.frontier_bytes);
    const std::vector<GroupId>& changed = state.keeping.changed();
    const bool unjudged = std::find(changed.begin(), changed.end(), g) != changed.end();
    hold(group.deferred || unjudged || !state.keeping.must_cut(g, state.ledger.bounded()), "group {} should have been cut", g);
  }
  hold(grouped == in_groups, "{} recipes have a group, {} are in its list", in_groups, grouped);
  for (StorageId id = 0; id < graph.most_storages(); ++id) {
    if (!graph[id].exists || !graph[id].held) continue;
    hold(graph.recipe(graph.edge(graph[id].users).recipe).group != none, "held storage {} has no group", id);
  }
  const std::size_t bound = std::max(state.config.least_ghosts, 4 * state.counters.live);
  hold(state.dead <= bound || !state.deferred.empty(), "{} ghosts, the bound is {}", state.dead, bound);
  hold(graph.recipes() <= graph.storages(), "more recipes than storages");
}

}  // namespace

void Machine::State::check() const {
  check_storages(*this);
  check_ledger(*this);
  check_reachable(*this);
  check_keeping(*this);
}

}  // namespace regrow::machine
