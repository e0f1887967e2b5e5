// SPDX-License-Identifier: Apache-2.0
#include "regrow/machine/graph.h"

#include <utility>

namespace regrow::machine {

StorageId Graph::add_storage(std::size_t bytes, std::uint8_t device) {
  const StorageId id = storages_.take();
  Storage& storage = storages_[id];
  const std::uint32_t planned = storage.planned, last_use = storage.last_use;
  storage = Storage{};
  storage.planned = planned;
  storage.last_use = last_use;
  storage.bytes = bytes;
  storage.device = device;
  storage.exists = true;
  return id;
}

void Graph::remove_storage(StorageId id) {
  storages_[id].exists = false;
  storages_.give(id);
}

RecipeId Graph::add_recipe(Payload payload, std::uint8_t device) {
  const RecipeId id = recipes_.take();
  Recipe& recipe = recipes_[id];
  recipe.payload = payload;
  recipe.device = device;
  recipe.seconds = 0;
  recipe.exists = true;
  return id;
}

EdgeId Graph::add_input(RecipeId recipe, StorageId storage, EdgeId last_input) {
  const EdgeId id = edges_.take();
  Storage& read = storages_[storage];
  edges_[id] = {.storage = storage, .recipe = recipe, .next_input = none, .next_user = read.users, .last_user = none};
  if (read.users != none) edges_[read.users].last_user = id;
  read.users = id;
  (last_input == none ? recipes_[recipe].inputs : edges_[last_input].next_input) = id;
  return id;
}

void Graph::add_output(RecipeId recipe, StorageId storage, std::size_t bytes, int view_of) {
  Recipe& maker = recipes_[recipe];
  maker.outputs.push_back({.storage = storage, .bytes = bytes, .view_of = view_of});
  if (storage == none) return;
  ++maker.outputs_left;
  storages_[storage].recipe = recipe;
}

StorageId Graph::remove_first_input(RecipeId recipe) {
  const EdgeId id = recipes_[recipe].inputs;
  const Edge edge = edges_[id];
  recipes_[recipe].inputs = edge.next_input;
  (edge.last_user == none ? storages_[edge.storage].users : edges_[edge.last_user].next_user) = edge.next_user;
  if (edge.next_user != none) edges_[edge.next_user].last_user = edge.last_user;
  edges_.give(id);
  return edge.storage;
}

void Graph::forget_recipe(StorageId id) {
  Recipe& maker = recipes_[storages_[id].recipe];
  for (Output& output : maker.outputs) {
    if (output.storage == id) output.storage = none;
  }
  --maker.outputs_left;
  storages_[id].recipe = none;
}

void Graph::remove_recipe(RecipeId id) {
  recipes_[id].outputs.clear();
  recipes_[id].exists = false;
  recipes_.give(id);
}

void Graph::bind(Slot slot, StorageId storage) {
  if (slot >= slots_.size()) slots_.resize(slot + std::size_t{1}, none);
  slots_[slot] = storage;
  ++storages_[storage].slots;
}

StorageId Graph::unbind(Slot slot) noexcept {
  const StorageId id = std::exchange(slots_[slot], none);
  --storages_[id].slots;
  return id;
}

}  // namespace regrow::machine
