// SPDX-License-Identifier: Apache-2.0
// A materialization plan: what to read back and what to recompute so that some storages are resident, in topological order, each
// operation once, with the most bytes that it takes known before it begins. One thread.
//
// Ghosts that it brings back go at once after their last use in it. So do, in a lean plan, live storages that nobody asked for;
// otherwise these stay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "regrow/machine/graph.h"
#include "regrow/machine/ledger.h"

namespace regrow::machine {

class Plan {
 public:
  // What a step is the last of the plan to use.
  struct Last {
    StorageId storage;
    bool made;  // by the plan, from nothing
  };
  struct Step {
    std::uint32_t id = 0;  // the recipe to run, or the storage to read back
    bool regrow = false;
    std::uint32_t lasts_begin = 0, lasts_end = 0;
  };

  // For storages that are neither resident nor poisoned. Iterative.
  void build(Graph& graph, std::span<const StorageId> targets);
  // What it needs beyond what stands there when it begins: at most, and when it has ended.
  void estimate(const Graph& graph, std::uint8_t devices, bool lean);

  const std::vector<Step>& steps() const noexcept { return steps_; }
  // Storages that are not needed any more after a step, targets apart. Of those that the plan made, the dead ones go; in a lean
  // plan the live ones too.
  std::span<const Last> lasts(const Step& step) const noexcept {
    return {lasts_.data() + step.lasts_begin, step.lasts_end - step.lasts_begin};
  }
  bool lean() const noexcept { return lean_; }
  Need peak(std::uint8_t device) const noexcept { return device < peak_.size() ? peak_[device] : Need{}; }
  Need after(std::uint8_t device) const noexcept { return device < now_.size() ? now_[device] : Need{}; }
  void clear() noexcept;

 private:
  struct Visit {
    RecipeId recipe;
    EdgeId next;
  };
  void visit(Graph& graph, StorageId storage);
  void find_lasts(Graph& graph);

  std::uint32_t number_ = 0;
  std::vector<Step> steps_;
  std::vector<Last> lasts_;
  std::vector<Need> peak_, now_;  // by device
  std::vector<Visit> stack_;
  bool lean_ = false;
};

}  // namespace regrow::machine
