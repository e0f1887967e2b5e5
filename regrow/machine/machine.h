// SPDX-License-Identifier: Apache-2.0
// The interpreter's mind: a deterministic state machine over ids, sizes, costs and edges. It decides what runs, where it stands,
// what is recomputed, what is cut; it touches no tensor data, no thread, no clock. One thread.
//
// A shell feeds it one command, then carries out actions until there are none:
//
//     machine.apply(spec);
//     while (const Action* action = machine.next()) machine.done(carry_out(*action));
//
// The graph is over storages: a view is another slot on the same storage and has no recipe. A storage that nobody can name any more
// lives on as a ghost (its bytes gone) while the recipe of a live one needs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "regrow/machine/placement.h"

namespace regrow::machine {

using Slot = std::uint32_t;       // the caller's name of a tensor: dense, used again after del
using StorageId = std::uint32_t;  // dense, used again after `erased`
using Payload = std::uint32_t;    // the shell's name of an operation with all that it needs to run it again
using ErrorId = std::uint32_t;    // the shell's name of an error; 0: none
inline constexpr StorageId no_storage = 0xffff'ffff;

class Policy;

struct Config {
  int devices = 1;
  std::size_t reserve_bytes = std::size_t{1} << 40;  // address space of each device's arena
  std::size_t memory_bytes = 0;                      // of the system: what a device may take whatever its budget; 0: anything
  std::size_t least_ghosts = 20'000;                 // ghosts are bounded by max(this, 4 x live storages)
  Policy* policy = nullptr;                          // as Eviction::policy, to begin with
};

// When and by whose word storages are evicted, while there is a budget.
struct Eviction {
  Policy* policy = nullptr;     // names victims (policy.h), and outlives the machine; null: nothing is evicted unasked
  std::size_t mark = 0;         // where they can, evictions keep what is charged on a device below it; 0: only the budget counts
  std::size_t least_bytes = 0;  // smaller storages stay
};

struct OutputSpec {
  Slot slot = 0;
  int view_of = -1;         // index of the input whose storage it shares; -1: its own
  std::size_t bytes = 0;    // of its own storage
  std::uint32_t reuse = 0;  // bit i: it may take over the storage of input i if that dies here
};

struct ApplySpec {
  Payload payload = 0;
  std::uint64_t key = 0;     // of operator, attributes and shapes: what costs are kept by
  std::uint8_t device = 0;   // of outputs and workspace
  bool replayable = true;    // false: it may not run again (callbacks, copies between devices)
  bool fallible = false;     // it may fail because of values: never in place
  bool state = false;        // an update: its outputs become sources, other readers of what it replaces are cut first
  bool measure = false;      // output sizes are found by a first pass: `measure` precedes `run`
  std::span<const Slot> inputs = {};
  std::span<const OutputSpec> outputs = {};
  std::span<const Slot> deletes = {};  // slots that die with this operation, inputs of it or not
  std::size_t workspace = 0;
};

struct Operand {
  StorageId storage = 0;  // no_storage: an output of a recomputation that nobody can name any more (its place is given back at once)
  std::uint8_t device = 0;
  bool foreign = false;  // bytes belong to someone else: the shell knows where
  Place place;
};

// Has the fields that its kind names, and `device`; others are unspecified.
struct Action {
  enum class Kind : std::uint8_t {
    // To be carried out and answered by done().
    pages,      // the arena of `device` does `page`; an error says that it has not: neither of its ranges has pages then, and the
                // command's other pages are not asked for
    fill,       // operand: write the host value of the put command there
    measure,    // payload, inputs: answer with Completion::sizes
    run,        // payload, inputs, outputs, workspace; `regrow`: it is a recomputation. Operations that are views alone do not run
    swap_out,   // operand: copy to the store, kept under the storage's id
    swap_in,    // operand: copy back from there; the copy is given up unless `keep`, and also where it cannot be read. `regrow`: a recipe
                // can make the value again
    write_ahead,  // operand: begin to copy it to the store; an error says that this is not the time. What stands there does not change, nor
                  // go, until transferred() was told how it ended, or one of the next two was carried out
    read_ahead,   // operand: begin to copy it back from there; likewise
    await,        // operand: wait until its transfer has ended, and answer with how. `regrow`: as swap_in
    refuse,     // the command does not fit: answer with the error that its outputs, or its caller, get
    // To be taken note of; answered by done() as well, with nothing in it.
    cancel,       // operand.storage: its transfer must have ended before the next action; a copy that it has made is not needed
    forget_swap,  // operand.storage: the copy is not needed any more
    released,     // operand.storage: its bytes are gone; `why`: all but cascade
    erased,       // operand.storage: its id will be used again; `why`: deleted, or cascade (a ghost that nothing needs any more)
    retired,      // payload: the operation will never run again
  };
  enum class Why : std::uint8_t { deleted, dropped, swapped, in_place, temporary, cascade, evicted };

  Kind kind = Kind::run;
  Why why = Why::deleted;
  bool regrow = false;
  bool keep = false;
  std::uint8_t device = 0;
  PageAction page{};
  Payload payload = 0;
  Operand operand{};
  std::span<const Operand> inputs = {};   // of the operation, in its order; valid until the next call of next()
  std::span<const Operand> outputs = {};
  Place workspace{};
  std::size_t required = 0;  // refuse: the floor of the command: pinned + its inputs, outputs, workspace
  std::size_t smallest = 0;  // refuse: a budget that is known to suffice
  bool no_pages = false;     // refuse: it would fit, but the system has refused pages
};

struct Completion {
  // run, measure, fill: it failed (outputs are poisoned); swap_in: it failed (recomputed, or poisoned without a recipe);
  // swap_out: it failed (the value stays); pages: any but 0; refuse: the error to hand out.
  ErrorId error = 0;
  double seconds = 0;                   // run, swap_out, swap_in: how long it took
  std::span<const std::size_t> sizes = {};  // measure: bytes of each output
  std::size_t workspace = 0;                // measure: bytes that the run needs, where they depend on the sizes
};

enum class Residency : std::uint8_t { resident, dropped, swapped, poisoned };

struct Usage {
  std::size_t budget_bytes = 0;     // 0: none
  std::size_t live_bytes = 0;       // resident storages, as occupied
  std::size_t committed_bytes = 0;  // pages, and staging
  std::size_t peak_bytes = 0;       // most of: live + workspace + staging, since the last reset
  std::size_t peak_tensor_bytes = 0;  // of live, while an operation ran
  std::size_t peak_committed_bytes = 0;
  std::size_t staging_bytes = 0;    // of the spill store
  std::size_t workspace_bytes = 0;  // largest since the last reset
  std::size_t operation_bytes = 0;  // largest of an operation since then: distinct inputs, outputs, workspace
  std::size_t largest_hole_bytes = 0;
  std::size_t swapped_bytes = 0;    // copies in the store
};

struct Counters {
  std::uint64_t applied = 0, recomputed = 0, dropped = 0, swapped_out = 0, swapped_in = 0, cuts = 0, in_place = 0;
  std::uint64_t evicted = 0;        // by the policy's word
  std::uint64_t written = 0;        // for that
  std::uint64_t written_ahead = 0, read_ahead = 0;  // before there was need
  std::uint64_t bounded_plans = 0;  // that did not fit as they were made, and were run again with evictions among their own
  double recompute_seconds = 0;
  std::size_t live = 0, ghosts = 0, recipes = 0;  // now
};

// A materialization plan, as computed before it began.
struct PlanInfo {
  std::uint32_t operations = 0;  // that it ran again
  std::uint32_t reads = 0;       // swapped storages that it brought back
  std::size_t peak_bytes = 0;    // most of live + workspace on the device while it ran
};

class Machine {
 public:
  struct State;  // of the implementation

  explicit Machine(const Config& config = {});
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Commands. Requires that the one before is finished (next() returned null). Slots must be live, outputs' slots free.
  void put(Slot slot, std::uint8_t device, std::size_t bytes);
  void put_foreign(Slot slot, std::uint8_t device, std::size_t bytes);  // never evicted, not charged here
  // An input that is poisoned: nothing runs, the outputs inherit the error of the first such input, the payload is retired.
  // What the spans of `spec` refer to stays as it is until the command is finished.
  void apply(const ApplySpec& spec);
  // The shell found an error before the operation could be described (shapes known only now): outputs are poisoned.
  void apply_failed(std::span<const Slot> outputs, std::span<const Slot> deletes, ErrorId error);
  void del(Slot slot);
  void fetch(Slot slot);     // resident and not moved until the next command, unless poisoned or refused
  void drop(Slot slot);      // a storage without recipe, exported or foreign stays, silently: ask droppable() first
  void swap_out(Slot slot);
  void swap_in(Slot slot);
  void export_storage(Slot slot);        // resident already; pinned until as many unexports
  void unexport(StorageId storage);
  // 0: none. Refuses if what is charged does not fit; the old one stays. The arena's limit is set after it: pages are given back, none
  // are committed in this command.
  void set_budget(std::uint8_t device, std::size_t bytes);
  // Whether evictions may write out, so that what has no recipe may go as well, and what is read back keeps its copy. The store takes
  // `staging` bytes beside the arenas, which count against the budget of device 0, if it has one. Refuses like set_budget.
  void set_spill(bool on, std::size_t staging);
  // A command like the others. From now on; what is above the mark goes when room is asked for next.
  void set_eviction(const Eviction& eviction);
  void set_recording(bool on) noexcept;  // whether recipes are kept from here on
  void reset_peak(std::uint8_t device) noexcept;

  // Commands of the shell's own, between others, where evictions may write out. What is outside and will be read soon, in this order, is
  // read back while there is room; what would be evicted next is written.
  void look_ahead(std::span<const Slot> soon);
  // How a transfer that was begun so has ended.
  void transferred(StorageId storage, const Completion& completion);

  // The next thing to do for the current command; null when it is finished.
  const Action* next();
  void done(const Completion& completion = {});

  // What the shell may ask between commands.
  bool has(Slot slot) const noexcept;
  ErrorId error_of(Slot slot) const noexcept;         // 0: good
  Residency residency(Slot slot) const noexcept;
  Operand operand(Slot slot) const noexcept;          // of a live, unpoisoned slot; its place is null unless resident
  bool droppable(Slot slot) const noexcept;           // it has a recipe that may run again
  bool has_recipe(StorageId storage) const noexcept;
  bool spills() const noexcept;                       // evictions may write out
  ErrorId refused() const noexcept;                   // of the last fetch, swap_in or set_budget; 0: it succeeded
  Usage usage(std::uint8_t device) const noexcept;
  const Counters& counters() const noexcept;
  PlanInfo last_plan(std::uint8_t device) const noexcept;  // the last one that began
  // Checks every invariant by full traversal (tests only: linear). Throws std::logic_error that names what is broken.
  void check() const;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace regrow::machine
