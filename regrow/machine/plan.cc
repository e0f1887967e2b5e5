// SPDX-License-Identifier: Apache-2.0
#include "regrow/machine/plan.h"

namespace regrow::machine {

void Plan::clear() noexcept {
  steps_.clear();
  lasts_.clear();
  peak_.clear();
  now_.clear();
}

void Plan::build(Graph& graph, std::span<const StorageId> targets) {
  clear();
  ++number_;
  for (StorageId target : targets) {
    visit(graph, target);
    while (!stack_.empty()) {
      const Visit top = stack_.back();
      if (top.next == none) {
        stack_.pop_back();
        steps_.push_back({.id = top.recipe, .regrow = true});
      } else {
        stack_.back().next = graph.edge(top.next).next_input;
        visit(graph, graph.edge(top.next).storage);
      }
    }
  }
  for (StorageId target : targets) graph[target].last_use = number_;  // stays
  find_lasts(graph);
}

void Plan::visit(Graph& graph, StorageId id) {
  Storage& storage = graph[id];
  if (storage.where == Where::memory || storage.where == Where::pending || storage.planned == number_) return;
  storage.planned = number_;
  if (storage.where == Where::host) {
    steps_.push_back({.id = id});
    return;
  }
  Recipe& recipe = graph.recipe(storage.recipe);
  if (recipe.planned == number_) return;
  recipe.planned = number_;
  stack_.push_back({storage.recipe, recipe.inputs});
}

void Plan::find_lasts(Graph& graph) {
  const auto last_used_here = [&](StorageId id) {
    Storage& storage = graph[id];
    if (storage.last_use == number_) return;
    storage.last_use = number_;
    lasts_.push_back({id, storage.where == Where::nowhere});
  };
  for (std::size_t i = steps_.size(); i-- > 0;) {
    Step& step = steps_[i];
    step.lasts_begin = static_cast<std::uint32_t>(lasts_.size());
    if (step.regrow) {
      const Recipe& recipe = graph.recipe(step.id);
      for (const Output& output : recipe.outputs) {
        if (output.storage != none) last_used_here(output.storage);
      }
      for (EdgeId edge = recipe.inputs; edge != none; edge = graph.edge(edge).next_input) last_used_here(graph.edge(edge).storage);
    }
    step.lasts_end = static_cast<std::uint32_t>(lasts_.size());
  }
}

void Plan::estimate(const Graph& graph, std::uint8_t devices, bool lean) {
  lean_ = lean;
  peak_.assign(devices, {});
  now_.assign(devices, {});
  for (const Step& step : steps_) {
    if (!step.regrow) {
      const Storage& storage = graph[step.id];
      now_[storage.device] = now_[storage.device] + need_of(storage.bytes);
      peak_[storage.device] = most(peak_[storage.device], now_[storage.device]);
      continue;
    }
    const Recipe& recipe = graph.recipe(step.id);
    const std::uint8_t device = recipe.device;
    Need passing = need_of(recipe.workspace);
    for (const Output& output : recipe.outputs) {
      if (output.view_of >= 0) continue;
      const bool stays = output.storage != none && graph[output.storage].where == Where::nowhere;
      (stays ? now_[device] : passing) = (stays ? now_[device] : passing) + need_of(output.bytes);
    }
    peak_[device] = most(peak_[device], now_[device] + passing);
    for (const auto [id, made] : lasts(step)) {
      const Storage& storage = graph[id];
      if (made && (lean || storage.dead)) now_[storage.device] = now_[storage.device] - need_of(storage.bytes);
    }
  }
}

}  // namespace regrow::machine
