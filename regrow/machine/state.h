// SPDX-License-Identifier: Apache-2.0
// The machine inside: its parts, the stream of actions, and the stages that a command goes through. One thread.
//
// A command runs stages. A stage changes the state, appends actions, and names the stage that follows once they are carried out
// (`resume`); an action that has an answer is taken up by answer(). Nothing recurses, whatever the graph looks like.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <span>
#include <vector>

#include "regrow/machine/action_queue.h"
#include "regrow/machine/graph.h"
#include "regrow/machine/keeping.h"
#include "regrow/machine/ledger.h"
#include "regrow/machine/machine.h"
#include "regrow/machine/plan.h"
#include "regrow/machine/policy.h"

namespace regrow::machine {

struct Machine::State {
  using Stage = void (State::*)();
  using Why = Action::Why;

  explicit State(const Config& configuration) : config(configuration), ledger(configuration) {}

  // Action stream (machine.cc).
  const Action* next();
  void answer(const Completion& completion);
  void begin();
  void push_pages(std::uint8_t device);
  void pages_refused();
  void note(Action::Kind kind, StorageId storage, Why why);
  void note_retired(Payload payload) { queue.push(Action::Kind::retired).payload = payload; }
  Operand operand_of(StorageId id) const noexcept {
    const Storage& storage = graph[id];
    return {.storage = id, .device = storage.device, .foreign = storage.foreign, .place = storage.place};
  }

  // Lifetimes (lifetime.cc).
  void died_if_unnamed(StorageId id);
  void unpin(StorageId id);
  void release(StorageId id, Why why);  // resident no more
  void forget_host(StorageId id);
  void forget_copy(StorageId id);
  void give_up_bytes(StorageId id, Why why);  // wherever they are
  void dispose(StorageId id);           // dead, without readers, not pinned: it goes, and what was kept for it alone
  void detach(StorageId id);            // it becomes a source
  void remove_recipe(RecipeId id);      // without live outputs; what it alone read goes too, with sweep()
  void sweep();
  void poison(StorageId id, ErrorId error);
  void lose(RecipeId id, ErrorId error);  // it failed when run again: what is not resident and depends on it is poisoned
  void lose_value(StorageId id, ErrorId error);  // its only copy is gone: likewise
  void lose_all(ErrorId error);                  // of `lost`
  StorageId poisoned_storage(std::uint8_t device, ErrorId error);
  void unlink_dead(StorageId id);

  // Bounded keeping (cut.cc): judge what the command has changed, cut what must be, then go on.
  void settle(Stage then);
  void judge_changed();
  void next_cut();
  bool queue_oldest();
  void retry_deferred();
  void find_unmade(GroupId group);  // into targets: live outputs that a cut must regrow first
  void cut(GroupId group);
  void tell_cut(GroupId group);
  void defer(GroupId group);
  void cut_refused();

  // Evictions (evict.cc).
  enum class Room : std::uint8_t { there, lacking, waits };
  Room make_room(std::uint8_t device, Stage again);  // for `sizes`, all at once; waits: `again` once a victim has been written
  enum class Evicted : std::uint8_t { done, nothing, waits };
  Evicted evict_one(std::uint8_t device, std::size_t bytes, std::size_t limit);
  bool may_drop(StorageId id, std::size_t limit) const noexcept;
  void not_written(StorageId id);
  void offer_unwritten();
  void begin_evicting();                        // the policy is told what there is
  void end_evicting();
  void tell_entered(StorageId id);
  void tell_left(StorageId id);
  void tell_used(StorageId id) {
    if (evicting && graph[id].offered) eviction.policy->used(id);
  }
  double expected_seconds(std::uint64_t key, double measured, bool again) {
    return evicting ? eviction.policy->ran(key, measured, again) : measured;
  }

  // Transfers before there is need (ahead.cc).
  void look_ahead(std::span<const Slot> soon);
  void read_ahead(StorageId id);
  void write_ahead(std::uint8_t device);
  void not_begun(StorageId id);
  void transferred(StorageId id, const Completion& completion);
  void awaited(StorageId id, const Completion& completion);
  void written(StorageId id, const Completion& completion);
  void cancel_transfer(StorageId id);
  void cancel_transfers();
  bool give_up_arriving(std::uint8_t device);
  void end_transfer(StorageId id);
  void await(StorageId id);

  // Plans (materialize.cc).
  bool choose_plan();                           // keeps or frees, by the room there is; false: it cannot fit
  bool surely_fits(bool evictions) noexcept;    // with the command's own needs; if asked, by evicting all that is not pinned
  void run_plan(Stage ready, Stage refused, Stage again);
  void plan_step();
  void read_back(StorageId id);
  void swapped_in(StorageId id, const Completion& completion);
  void not_read_back(StorageId id, ErrorId error);
  void regrow(RecipeId id);
  void place_regrown(const Recipe& recipe);
  void regrown(const Completion& completion);
  void give_step_back();
  void short_of_room();
  void abandon_plan();
  void end_plan(Stage then);
  void plan_pin(StorageId id);
  void pin_plan();                              // what it reads and is there, and `standing`
  void plan_unpin(StorageId id);
  void let_go(StorageId id);                    // a pin of a plan
  void let_ghost_go(StorageId id);
  std::size_t pinned_offers(std::uint8_t device) const noexcept;
  void roll_back(std::size_t first, bool live_too);
  void swapped_out(StorageId id, const Completion& completion);

  // Plans that did not fit (bounded.cc); where spilling is possible, one operation at a time (one_by_one.cc).
  void one_by_one_step();
  bool push_missing(StorageId id);
  void unpin_inputs();
  void begin_bounded();
  void bounded_step();
  void pin_for_frame(StorageId id) {
    ++graph[id].pins;
    frame_pins.push_back(id);
  }
  void pop_frame();
  void bounded_ran();
  bool unpin_farthest();

  // Operations (apply.cc).
  void apply(const ApplySpec& spec);
  Need need_of_operation() const noexcept;  // outputs and workspace
  std::size_t bytes_of_operation() const noexcept;  // placed: distinct inputs, outputs and workspace
  void bring_inputs();
  void inputs_brought();
  void inputs_ready();
  void measured(const Completion& completion);
  void make_outputs();
  bool keeps_recipe() const noexcept;
  void record();
  void doom_readers_of_replaced();
  void launch();
  void launch_refused();
  StorageId lender_of(const OutputSpec& output) const noexcept;
  bool may_lend(std::size_t input, const OutputSpec& output) const noexcept;
  void finish_run(const Completion& completion);
  void finish_views();
  void poison_unmade(ErrorId error);
  void poison_made(ErrorId error);
  void unname(std::span<const Slot> slots);
  void apply_refused();
  void refuse_apply();
  void apply_answered(ErrorId error);

  // Other commands (commands.cc).
  void put(Slot slot, std::uint8_t device, std::size_t bytes);
  void place_subject();
  void put_refused();
  void filled(ErrorId error);
  void want(StorageId id);  // fetch and swap_in
  void bring_subject();
  void wanted();
  void finish_wanted();
  void want_refused();
  void finish();
  void drop(StorageId id);
  void swap_out(StorageId id);
  void set_budget(std::uint8_t device, std::size_t bytes);
  void set_spill(bool on, std::size_t staging);
  void shed();
  void change_store();
  void set_eviction(const Eviction& wanted);

  // Refusals (refuse.cc).
  // For want of room on short_device. What the command wants resident first is in `targets`.
  void refuse(Need own, Need operands);
  std::size_t enough_with_spilling(Need own, Need operands) const;
  Need need_of_recipe(RecipeId id) const noexcept;  // operands, outputs, workspace
  void push_refusal(std::size_t required, std::size_t smallest);
  void keep_refusal(ErrorId error);  // the caller asks for it
  Need pinned_need(std::uint8_t device) const noexcept;
  std::size_t deferred_bytes(std::uint8_t device) const noexcept;

  void check() const;

  // What is applied now.
  struct Operation {
    ApplySpec spec;
    std::span<const OutputSpec> outputs;  // the caller's, or with measured sizes
    bool active = false;
    bool made = false;     // its outputs exist
    std::size_t workspace_bytes = 0;
    Place workspace;
    RecipeId recipe = none;
    std::vector<StorageId> inputs;
    std::vector<StorageId> results;     // of each output; the input's for a view
    std::vector<StorageId> lenders;     // of each output; none: it has a place of its own
    std::vector<OutputSpec> measured;
  };
  struct Frame {
    RecipeId recipe;
    std::uint32_t pins;  // where its own begin in frame_pins
  };
  struct Brought {
    StorageId storage;
    bool from_host;
  };

  Config config;
  Graph graph;
  Keeping keeping{graph};
  Ledger ledger;
  Plan plan;
  Operation op;
  Counters counters;
  bool recording = true;
  Eviction eviction;
  bool evicting = false;                      // there is a budget and a policy
  std::vector<std::size_t> offered_bytes;     // by device: large storages that the policy may name, pinned ones too
  std::uint32_t dead = 0;                     // kept: ghosts and held sources
  StorageId oldest_dead = none, newest_dead = none;
  ErrorId refusal = 0;

  // The stream.
  ActionQueue queue;
  Stage resume = nullptr;
  std::vector<PageAction> pages;
  std::vector<Operand> operands;             // of the action that runs: inputs, then outputs
  // The plan that runs.
  std::vector<StorageId> targets;
  std::vector<Brought> brought;              // by plans of this command, in order
  std::size_t step = 0;
  RecipeId running = none;                   // what is run again
  std::vector<StorageId> plan_pins;          // pinned by it at some time
  std::vector<StorageId> standing;           // resident frontier of the group that is cut
  std::vector<StorageId> frontier;           // of a group, for the policy
  std::vector<Frame> frames;                 // of a bounded plan: recipes that wait for operands
  std::vector<StorageId> frame_pins;         // operands that they have
  absl::flat_hash_map<RecipeId, std::uint32_t> runs;
  bool bounded = false;
  bool inputs_unpinned = false;              // of the operation, while what it needs is made one by one
  std::size_t brought_before = 0;            // by plans before the one that runs
  Stage plan_ready = nullptr, plan_refused = nullptr;
  Stage plan_again = nullptr;                // a value could not be read back: what makes a plan without it
  std::vector<StorageId> made;               // storages that the running step makes
  std::vector<Place> passing;                // places that it gives back at once
  std::uint8_t short_device = 0;             // where a plan did not fit
  bool no_pages = false;                     // nor would it have: the system refused pages there
  std::vector<Need> own_need;                // by device: what the command needs on top of its plan
  std::vector<PlanInfo> last_plan;
  std::vector<std::size_t> sizes;
  // Cuts.
  std::vector<GroupId> cuts, deferred;
  GroupId cutting = none;                     // whose plan runs
  Stage after_cuts = nullptr;
  std::uint64_t relief_seen = 0;
  // Lifetimes.
  std::vector<StorageId> unused;             // for sweep()
  std::vector<RecipeId> lost;
  std::vector<StorageId> unnamed;             // by the deletes of this operation
  // Commands.
  StorageId subject = none;
  void (State::*on_refused)(ErrorId) = nullptr;
  struct Wanted {
    std::uint8_t device = 0;
    std::size_t budget = 0, staging = 0;
    bool new_store = false, spills = false;
  };
  Wanted wanted_room;                        // by a new budget, or a new store
  StorageId evictee = none;                  // is being written so that it may go
  std::vector<StorageId> unwritten;          // could not be: stay for the length of the command
  std::vector<StorageId> under_way;          // transfers ahead of need
  std::uint64_t pressed = 0;                 // 1 + operations when something was evicted last; 0: never
  std::uint64_t scanned = 0;                 // evictions when the policy found nothing to write
};

}  // namespace regrow::machine
