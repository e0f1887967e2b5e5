// SPDX-License-Identifier: Apache-2.0
#include "regrow/machine/keeping.h"

#include <utility>

namespace regrow::machine {

GroupId Keeping::create() {
  const GroupId id = groups_.take();
  groups_[id] = Group{.exists = true};
  return id;
}

void Keeping::join(GroupId group, RecipeId id) {
  Group& into = groups_[group];
  Recipe& recipe = graph_.recipe(id);
  recipe.group = group;
  recipe.last_in_group = none;
  recipe.next_in_group = into.recipes;
  if (into.recipes != none) graph_.recipe(into.recipes).last_in_group = id;
  into.recipes = id;
  ++into.size;
}

GroupId Keeping::merge(GroupId a, GroupId b) {
  if (groups_[a].size < groups_[b].size) std::swap(a, b);
  Group& into = groups_[a];
  Group& from = groups_[b];
  for (RecipeId id = from.recipes; id != none;) {
    const RecipeId next = graph_.recipe(id).next_in_group;
    join(a, id);
    id = next;
  }
  into.held += from.held;
  into.held_bytes += from.held_bytes;
  into.frontier_bytes += from.frontier_bytes;
  into.doomed |= from.doomed;
  from.exists = false;
  groups_.give(b);
  changed_.push_back(a);
  return a;
}

GroupId Keeping::gather(StorageId dead, GroupId group) {
  stack_.push_back(dead);
  while (!stack_.empty()) {
    const StorageId storage = stack_.back();
    stack_.pop_back();
    for (EdgeId edge = graph_[storage].users; edge != none; edge = graph_.edge(edge).next_user) {
      const RecipeId id = graph_.edge(edge).recipe;
      const GroupId its = graph_.recipe(id).group;
      if (its != none) {
        if (its != group) group = group == none ? its : merge(group, its);
        continue;
      }
      if (group == none) group = create();
      join(group, id);
      for (const Output& output : graph_.recipe(id).outputs) {
        if (output.storage == none) continue;
        if (graph_.live(output.storage)) {
          groups_[group].frontier_bytes += output.bytes;
        } else {
          stack_.push_back(output.storage);
        }
      }
    }
  }
  if (group != none) changed_.push_back(group);
  return group;
}

void Keeping::hold(GroupId group, std::size_t bytes) {
  ++groups_[group].held;
  groups_[group].held_bytes += bytes;
}

void Keeping::let_go(GroupId group, std::size_t bytes) {
  --groups_[group].held;
  groups_[group].held_bytes -= bytes;
}

void Keeping::frontier_shrank(GroupId group, std::size_t bytes) {
  groups_[group].frontier_bytes -= bytes;
  changed_.push_back(group);
}

void Keeping::leave(RecipeId id) {
  Recipe& recipe = graph_.recipe(id);
  Group& group = groups_[recipe.group];
  (recipe.last_in_group == none ? group.recipes : graph_.recipe(recipe.last_in_group).next_in_group) = recipe.next_in_group;
  if (recipe.next_in_group != none) graph_.recipe(recipe.next_in_group).last_in_group = recipe.last_in_group;
  if (--group.size == 0) {
    group.exists = false;
    groups_.give(recipe.group);
  }
  recipe.group = none;
}

bool Keeping::must_cut(GroupId id, bool bounded) const noexcept {
  const Group& group = groups_[id];
  if (!group.exists) return false;
  return group.doomed || (group.held > 0 && (!bounded || group.held_bytes >= group.frontier_bytes));
}

void Keeping::doom(GroupId id) {
  groups_[id].doomed = true;
  changed_.push_back(id);
}

void Keeping::all_changed() {
  for (GroupId id = 0; id < groups_.most(); ++id) {
    if (groups_[id].exists) changed_.push_back(id);
  }
}

}  // namespace regrow::machine
