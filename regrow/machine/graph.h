// SPDX-License-Identifier: Apache-2.0
// What the machine knows: storages, the slots that name them, and the recipes by which they can be made again. Only structure:
// it takes no decision, holds no bytes and emits nothing. One thread.
//
// A recipe reads storages (its edges) and made storages (its outputs). A storage is live while a slot or an export names it, dead
// afterwards. A dead one that has a recipe is a ghost; a dead one without (a source) is held: both exist only while a recipe reads
// them. Recipes that read something held, or a ghost that descends from something held through dead storages, form groups (keeping.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "regrow/machine/machine.h"
#include "regrow/machine/pool.h"

namespace regrow::machine {

using RecipeId = std::uint32_t;
using EdgeId = std::uint32_t;
using GroupId = std::uint32_t;
inline constexpr std::uint32_t none = no_storage;  // of any kind of id

enum class Where : std::uint8_t {
  nowhere,  // dropped, a ghost, or poisoned
  pending,  // the operation that makes it for the first time is under way
  memory,   // resident (a foreign one always is)
  host,     // swapped out: `copied`, and nothing else
};

enum class Transfer : std::uint8_t {
  none,
  out,  // it is in memory, and being copied to the store
  in,   // it is outside, and being read back to its place
};

struct Storage {
  Place place;            // in memory, unless foreign; or on the way there
  std::size_t bytes = 0;
  ErrorId error = 0;      // poisoned
  RecipeId recipe = none;  // that made it; none: it is a source
  EdgeId users = none;    // of the recipes that read it: head of their list
  std::uint32_t slots = 0;
  std::uint32_t exports = 0;
  std::uint32_t pins = 0;  // operands of the operation under way
  std::uint32_t planned = 0;  // number of the last plan that it is part of
  std::uint32_t last_use = 0;  // number of the last plan whose frees have been settled for it
  StorageId older = none, newer = none;  // dead ones in the order of their death
  Where where = Where::nowhere;
  Transfer transfer = Transfer::none;
  std::uint8_t device = 0;
  bool exists = false;
  bool foreign = false;
  bool dead = false;
  bool kept = false;  // dead and in the list of dead ones, because a recipe reads it
  bool held = false;  // kept, and a source: counted by the group of its readers
  bool offered = false;  // to the policy: it was told that this may be evicted
  bool plan_pin = false;  // one of the pins is the running plan's
  bool copied = false;    // the store has a copy; while it is resident as well, it may go for nothing: storages never change
};

// One operand of one recipe.
struct Edge {
  StorageId storage = none;
  RecipeId recipe = none;
  EdgeId next_input = none;             // of the recipe, in operand order
  EdgeId next_user = none, last_user = none;  // of the storage
};

struct Output {
  StorageId storage = none;  // none: erased, or a view
  std::size_t bytes = 0;
  int view_of = -1;
};

struct Recipe {
  Payload payload = 0;
  std::uint64_t key = 0;
  std::size_t workspace = 0;
  double seconds = 0;            // that a run is expected to take
  EdgeId inputs = none;
  std::vector<Output> outputs;
  std::uint32_t outputs_left = 0;  // storages that still refer to it
  GroupId group = none;
  RecipeId next_in_group = none, last_in_group = none;
  std::uint32_t planned = 0;
  std::uint8_t device = 0;
  bool exists = false;
};

class Graph {
 public:
  Storage& operator[](StorageId id) noexcept { return storages_[id]; }
  const Storage& operator[](StorageId id) const noexcept { return storages_[id]; }
  Recipe& recipe(RecipeId id) noexcept { return recipes_[id]; }
  const Recipe& recipe(RecipeId id) const noexcept { return recipes_[id]; }
  const Edge& edge(EdgeId id) const noexcept { return edges_[id]; }
  std::uint32_t most_storages() const noexcept { return storages_.most(); }
  std::uint32_t most_recipes() const noexcept { return recipes_.most(); }
  std::uint32_t storages() const noexcept { return storages_.used(); }
  std::uint32_t recipes() const noexcept { return recipes_.used(); }

  StorageId add_storage(std::size_t bytes, std::uint8_t device);
  // Requires that nothing refers to it: no slot, export, user or recipe.
  void remove_storage(StorageId id);

  // A recipe without operands and outputs, to be filled by add_input and add_output in their order.
  RecipeId add_recipe(Payload payload, std::uint8_t device);
  EdgeId add_input(RecipeId recipe, StorageId storage, EdgeId last_input);  // after `last_input` (none: the first)
  void add_output(RecipeId recipe, StorageId storage, std::size_t bytes, int view_of);
  // Takes the first operand off a recipe and says which storage it was.
  StorageId remove_first_input(RecipeId recipe);
  // The storage no longer comes from its recipe: the recipe is told, if it still exists.
  void forget_recipe(StorageId id);
  // Requires that it has no operands and no outputs left.
  void remove_recipe(RecipeId id);

  // Slots. A slot that names nothing gives none.
  StorageId named(Slot slot) const noexcept { return slot < slots_.size() ? slots_[slot] : none; }
  void bind(Slot slot, StorageId storage);
  StorageId unbind(Slot slot) noexcept;
  std::uint32_t most_slots() const noexcept { return static_cast<std::uint32_t>(slots_.size()); }

  // Whether what has no recipe may be evicted as well: written out.
  bool spills() const noexcept { return spills_; }
  void set_spills(bool on) noexcept { spills_ = on; }

  bool live(StorageId id) const noexcept { return !storages_[id].dead; }
  // Has `storage` any reader?
  bool is_read(StorageId id) const noexcept { return storages_[id].users != none; }

 private:
  Pool<Storage> storages_;
  Pool<Recipe> recipes_;
  Pool<Edge> edges_;
  std::vector<StorageId> slots_;
  bool spills_ = false;
};

}  // namespace regrow::machine
