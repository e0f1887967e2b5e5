// SPDX-License-Identifier: Apache-2.0
// Cutting: what is kept for recipes is bounded (DESIGN 5). After each command the groups that it has changed are judged; a cut first
// regrows what of its frontier was dropped, by a plan; if that does not fit, it is put off.
#include <algorithm>

#include "regrow/machine/state.h"

namespace regrow::machine {

void Machine::State::settle(Stage then) {
  if (keeping.changed().empty() && deferred.empty() && dead <= config.least_ghosts) {
    if (then != nullptr) (this->*then)();
    return;
  }
  after_cuts = then;
  if (then != &State::launch) own_need[op.spec.device] = {};  // the command has what it needs
  if (!deferred.empty() && relief_seen != ledger.relief()) retry_deferred();
  relief_seen = ledger.relief();
  next_cut();
}

void Machine::State::judge_changed() {
  std::vector<GroupId>& changed = keeping.changed();
  for (GroupId id : changed) {
    if (keeping.must_cut(id, ledger.bounded()) && !keeping[id].deferred) cuts.push_back(id);
  }
  changed.clear();
}

void Machine::State::next_cut() {
  cutting = none;
  for (;;) {
    judge_changed();
    if (cuts.empty() && !queue_oldest()) break;
    const GroupId id = cuts.back();
    if (!keeping.must_cut(id, ledger.bounded()) || keeping[id].deferred) {
      cuts.pop_back();
      continue;
    }
    find_unmade(id);
    if (!targets.empty()) {
      plan.build(graph, targets);
      const bool possible = choose_plan();
      if (evicting) pin_plan();
      if (!possible || !surely_fits(evicting)) {
        end_plan(nullptr);
        defer(id);
        continue;
      }
      cutting = id;
      return run_plan(&State::next_cut, &State::cut_refused, &State::next_cut);
    }
    cuts.pop_back();
    cut(id);
  }
  const Stage then = after_cuts;
  after_cuts = nullptr;
  standing.clear();
  if (then != nullptr) (this->*then)();
}

bool Machine::State::queue_oldest() {
  if (dead <= std::max(config.least_ghosts, 4 * counters.live) || !graph.is_read(oldest_dead)) return false;
  const GroupId its = graph.recipe(graph.edge(graph[oldest_dead].users).recipe).group;
  if (its != none && keeping[its].deferred) return false;
  const GroupId id = keeping.gather(oldest_dead);
  keeping.doom(id);
  cuts.push_back(id);
  return true;
}

void Machine::State::find_unmade(GroupId group) {
  targets.clear();
  standing.clear();
  for (RecipeId id = keeping[group].recipes; id != none; id = graph.recipe(id).next_in_group) {
    for (const Output& output : graph.recipe(id).outputs) {
      if (output.storage == none || !graph.live(output.storage)) continue;
      if (graph[output.storage].where == Where::nowhere) targets.push_back(output.storage);
      if (graph.spills() && !targets.empty()) return;  // one at a time: what stands may be written out
      if (graph[output.storage].where == Where::memory && evicting && !graph.spills()) standing.push_back(output.storage);
    }
  }
}

// Its frontier had to be there, as if somebody had asked for it.
void Machine::State::tell_cut(GroupId group) {
  frontier.clear();
  for (RecipeId id = keeping[group].recipes; id != none; id = graph.recipe(id).next_in_group) {
    for (const Output& output : graph.recipe(id).outputs) {
      if (output.storage != none && graph.live(output.storage)) frontier.push_back(output.storage);
    }
  }
  if (!frontier.empty()) eviction.policy->issued(0, frontier, {});
}

void Machine::State::cut(GroupId group) {
  ++counters.cuts;
  if (evicting) tell_cut(group);
  while (keeping[group].exists) {
    const RecipeId id = keeping[group].recipes;
    for (std::size_t i = 0; i < graph.recipe(id).outputs.size(); ++i) {
      if (graph.recipe(id).outputs[i].storage != none) detach(graph.recipe(id).outputs[i].storage);
    }
    remove_recipe(id);
    sweep();
  }
}

void Machine::State::defer(GroupId id) {
  Group& group = keeping[id];
  group.deferred = true;
  group.attempts = std::min(group.attempts + 1, 10u);
  group.patience = 1u << group.attempts;
  group.device = short_device;
  group.lacks = std::max(plan.peak(short_device).charged, plan.after(short_device).charged + own_need[short_device].charged);
  if (no_pages) group.lacks = ~std::size_t{0} / 2;  // more than a budget can say
  deferred.push_back(id);
}

void Machine::State::cut_refused() {
  defer(cutting);
  no_pages = false;
  next_cut();
}

void Machine::State::retry_deferred() {
  for (std::size_t i = 0; i < deferred.size();) {
    const GroupId id = deferred[i];
    Group& group = keeping[id];
    if (group.exists && group.deferred) {
      const std::size_t limit = ledger.limit(group.device);
      const bool room = limit > 0 && ledger.charged(group.device) + group.lacks <= limit;
      if (!room && --group.patience > 0) {
        ++i;
        continue;
      }
      group.deferred = false;
      if (keeping.must_cut(id, ledger.bounded())) cuts.push_back(id);
    }
    deferred[i] = deferred.back();
    deferred.pop_back();
  }
}

}  // namespace regrow::machine
