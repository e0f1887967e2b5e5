// SPDX-License-Identifier: Apache-2.0
// The public face: commands are handed to the state, actions handed out one by one.
#include "regrow/machine/machine.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "regrow/machine/state.h"

namespace regrow::machine {

const Action* Machine::State::next() {
  for (;;) {
    if (const Action* action = queue.take()) return action;
    queue.clear();
    if (resume == nullptr) {
      if (!unwritten.empty()) [[unlikely]] offer_unwritten();
      return nullptr;
    }
    const Stage stage = resume;
    resume = nullptr;
    (this->*stage)();
  }
}

void Machine::State::answer(const Completion& completion) {
  const Action& action = queue.taken_last();
  const StorageId storage = action.operand.storage;
  switch (action.kind) {
    case Action::Kind::run: return action.regrow ? regrown(completion) : finish_run(completion);
    case Action::Kind::fill: return filled(completion.error);
    case Action::Kind::measure: return measured(completion);
    case Action::Kind::swap_out: return swapped_out(storage, completion);
    case Action::Kind::swap_in: return swapped_in(storage, completion);
    case Action::Kind::write_ahead:
    case Action::Kind::read_ahead: return completion.error != 0 ? not_begun(storage) : void();
    case Action::Kind::await: return awaited(storage, completion);
    case Action::Kind::refuse: return (this->*on_refused)(completion.error);
    case Action::Kind::pages: return completion.error != 0 ? pages_refused() : void();
    case Action::Kind::cancel:
    case Action::Kind::forget_swap:
    case Action::Kind::released:
    case Action::Kind::erased:
    case Action::Kind::retired: return;
  }
}

void Machine::State::begin() {
  if (resume != nullptr || !queue.empty()) throw std::logic_error("machine: the command before is not finished");
  queue.clear();
  brought.clear();
  brought_before = 0;
  refusal = 0;
  subject = none;
  op.active = false;
  bounded = false;
  no_pages = false;
  if (ledger.bounded()) std::fill(own_need.begin(), own_need.end(), Need{});
}

void Machine::State::push_pages(std::uint8_t device) {
  for (const PageAction& page : pages) queue.push(Action::Kind::pages, device).page = page;
  pages.clear();
}

// The system refused pages, after they had been counted. They and those that were still to come are counted no more, and what they
// were for (the last action of its stage) is refused as if there had been no room.
void Machine::State::pages_refused() {
  const std::uint8_t device = queue.taken_last().device;
  pages.assign(1, queue.taken_last().page);
  const Action* action = queue.take();
  for (; action != nullptr && action->kind == Action::Kind::pages; action = queue.take()) pages.push_back(action->page);
  ledger.placement(device).refused(pages);
  pages.clear();
  if (action == nullptr) return;  // a budget gives pages back: nothing rests on them
  short_device = device;
  no_pages = true;
  if (action->kind == Action::Kind::read_ahead) return not_begun(action->operand.storage);
  if (action->kind == Action::Kind::fill) return put_refused();
  if (action->kind == Action::Kind::run && !action->regrow) return launch_refused();
  if (action->kind == Action::Kind::run) give_step_back();
  else ledger.release(device, std::exchange(graph[action->operand.storage].place, {}));
  abandon_plan();
}

void Machine::State::note(Action::Kind kind, StorageId id, Why why) {
  Action& action = queue.push(kind, graph[id].device);
  action.why = why;
  action.operand = operand_of(id);
}

Machine::Machine(const Config& config) : state_(std::make_unique<State>(config)) {
  const std::uint8_t devices = state_->ledger.devices();
  state_->own_need.resize(devices);
  state_->offered_bytes.resize(devices);
  state_->last_plan.resize(devices);
  state_->eviction.policy = config.policy;
}
Machine::~Machine() = default;

void Machine::put(Slot slot, std::uint8_t device, std::size_t bytes) { state_->put(slot, device, bytes); }

void Machine::put_foreign(Slot slot, std::uint8_t device, std::size_t bytes) {
  state_->begin();
  const StorageId id = state_->graph.add_storage(bytes, device);
  state_->graph[id].foreign = true;
  state_->graph[id].where = Where::memory;
  state_->graph.bind(slot, id);
  ++state_->counters.live;
}

void Machine::apply(const ApplySpec& spec) { state_->apply(spec); }

void Machine::apply_failed(std::span<const Slot> outputs, std::span<const Slot> deletes, ErrorId error) {
  state_->begin();
  for (Slot slot : outputs) state_->graph.bind(slot, state_->poisoned_storage(0, error));
  state_->unname(deletes);
  state_->settle(nullptr);
}

void Machine::del(Slot slot) {
  state_->begin();
  state_->unname({&slot, 1});
  state_->settle(nullptr);
}

void Machine::fetch(Slot slot) { state_->want(state_->graph.named(slot)); }
void Machine::swap_in(Slot slot) { state_->want(state_->graph.named(slot)); }
void Machine::drop(Slot slot) { state_->drop(state_->graph.named(slot)); }
void Machine::swap_out(Slot slot) { state_->swap_out(state_->graph.named(slot)); }

void Machine::export_storage(Slot slot) {
  state_->begin();
  const StorageId id = state_->graph.named(slot);
  if (state_->graph[id].exports++ == 0) state_->tell_left(id);
}

void Machine::unexport(StorageId storage) {
  state_->begin();
  if (--state_->graph[storage].exports == 0) state_->tell_entered(storage);
  state_->died_if_unnamed(storage);
  state_->settle(nullptr);
}

void Machine::set_budget(std::uint8_t device, std::size_t bytes) { state_->set_budget(device, bytes); }
void Machine::set_spill(bool on, std::size_t staging) { state_->set_spill(on, staging); }
void Machine::set_eviction(const Eviction& eviction) { state_->set_eviction(eviction); }
void Machine::set_recording(bool on) noexcept { state_->recording = on; }
void Machine::reset_peak(std::uint8_t device) noexcept { state_->ledger.reset_peak(device); }

void Machine::look_ahead(std::span<const Slot> soon) { state_->look_ahead(soon); }
void Machine::transferred(StorageId storage, const Completion& completion) { state_->transferred(storage, completion); }

const Action* Machine::next() { return state_->next(); }
void Machine::done(const Completion& completion) { state_->answer(completion); }

bool Machine::has(Slot slot) const noexcept { return state_->graph.named(slot) != none; }
ErrorId Machine::error_of(Slot slot) const noexcept { return state_->graph[state_->graph.named(slot)].error; }

Residency Machine::residency(Slot slot) const noexcept {
  const Storage& storage = state_->graph[state_->graph.named(slot)];
  if (storage.error != 0) return Residency::poisoned;
  if (storage.where == Where::host) return Residency::swapped;
  return storage.where == Where::memory ? Residency::resident : Residency::dropped;
}

Operand Machine::operand(Slot slot) const noexcept { return state_->operand_of(state_->graph.named(slot)); }

bool Machine::droppable(Slot slot) const noexcept {
  const Storage& storage = state_->graph[state_->graph.named(slot)];
  return storage.recipe != none && storage.exports == 0;
}

bool Machine::spills() const noexcept { return state_->graph.spills(); }
bool Machine::has_recipe(StorageId storage) const noexcept { return state_->graph[storage].recipe != none; }
ErrorId Machine::refused() const noexcept { return state_->refusal; }
Usage Machine::usage(std::uint8_t device) const noexcept { return state_->ledger.usage(device); }

const Counters& Machine::counters() const noexcept {
  state_->counters.ghosts = state_->dead;
  state_->counters.recipes = state_->graph.recipes();
  return state_->counters;
}

PlanInfo Machine::last_plan(std::uint8_t device) const noexcept { return state_->last_plan[device]; }
void Machine::check() const { state_->check(); }

}  // namespace regrow::machine
