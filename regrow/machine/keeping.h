// SPDX-License-Identifier: Apache-2.0
// How long dead sources are kept: the groups of recipes that need them, what is held for each, and when a group must be cut. Decided
// on sizes and the stream of commands alone, never on residency. One thread.
//
// A recipe that reads a dead source, or a ghost that descends from one through dead storages, is in a group; recipes that share a
// dead operand share their group. So each recipe, and each live output (the frontier), belongs to one group at most, and what all
// groups hold is less than what is alive. Cutting a group takes all its recipes away: the frontier turns into sources, what was dead goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "regrow/machine/graph.h"

namespace regrow::machine {

struct Group {
  RecipeId recipes = none;         // head of their list
  std::uint32_t size = 0;
  std::uint32_t held = 0;          // dead sources that they read
  std::size_t held_bytes = 0;
  std::size_t frontier_bytes = 0;  // live outputs of the recipes
  std::uint32_t patience = 0;      // deferred: settlements to wait for before the next attempt
  std::uint32_t attempts = 0;
  std::size_t lacks = 0;           // deferred: free bytes on `device` that the last attempt would have needed
  std::uint8_t device = 0;
  bool exists = false;
  bool doomed = false;             // to be cut whatever it holds
  bool deferred = false;           // should be cut, but the frontier could not be regrown in the room there is
};

class Keeping {
 public:
  explicit Keeping(Graph& graph) : graph_(graph) {}

  Group& operator[](GroupId id) noexcept { return groups_[id]; }
  const Group& operator[](GroupId id) const noexcept { return groups_[id]; }
  std::uint32_t most_groups() const noexcept { return groups_.most(); }

  // The readers of a dead storage, and those of the ghosts that descend from it, become one group (with `group`, if it is not none),
  // which is returned. Each recipe is visited once in its life, besides merging small groups into large ones.
  GroupId gather(StorageId dead, GroupId group = none);
  void hold(GroupId group, std::size_t bytes);
  void let_go(GroupId group, std::size_t bytes);
  // A live output of one of its recipes died or was detached.
  void frontier_shrank(GroupId group, std::size_t bytes);
  void leave(RecipeId recipe);  // the last one takes the group with it

  // The rule of DESIGN 5. `bounded`: memory has a budget; without one nothing is held.
  bool must_cut(GroupId id, bool bounded) const noexcept;
  void doom(GroupId id);
  // Groups that have changed since this was last called: to be judged.
  std::vector<GroupId>& changed() noexcept { return changed_; }
  const std::vector<GroupId>& changed() const noexcept { return changed_; }
  void all_changed();

 private:
  GroupId create();
  void join(GroupId group, RecipeId recipe);
  GroupId merge(GroupId a, GroupId b);

  Graph& graph_;
  Pool<Group> groups_;
  std::vector<GroupId> changed_;
  std::vector<StorageId> stack_;
};

}  // namespace regrow::machine
