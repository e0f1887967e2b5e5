// SPDX-License-Identifier: Apache-2.0
// A shell for tests: values are hashes, a kernel mixes the hashes of its inputs with the number of its payload, and memory is a map
// from places to values. A wrong recomputation, a buffer reused too early, an overlap or a stale read changes a value or throws.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "regrow/base/hash.h"
#include "regrow/machine/machine.h"

namespace regrow::machine {

using Value = std::uint64_t;

// What output `index` of an operation is.
inline Value kernel(Payload payload, std::size_t index, std::span<const Value> inputs) {
  Value value = hash_combine(payload + 1, index + 1);
  for (Value input : inputs) value = hash_combine(value, input);
  return value;
}

// An operation, written down.
struct Call {
  Payload payload = 0;
  std::vector<Slot> inputs = {};
  std::vector<OutputSpec> outputs = {};
  std::vector<Slot> deletes = {};
  std::size_t workspace = 0;
  std::uint8_t device = 0;
  bool replayable = true, fallible = false, state = false, measure = false;
};

class ModelShell {
 public:
  explicit ModelShell(const Config& config = {}) : machine(config), memory_(static_cast<std::size_t>(config.devices)) {}

  Machine machine;
  // What the next command is to meet.
  Value host_value = 0;                   // put
  ErrorId fill_error = 0;
  std::vector<std::size_t> sizes;         // measure
  ErrorId measure_error = 0;
  std::map<Payload, ErrorId> run_errors;  // each run of it fails
  std::function<ErrorId()> regrow_error;  // asked at each recomputation
  std::function<bool()> refuse_pages;     // asked when pages are to be committed or moved
  std::function<ErrorId()> read_error;    // asked when something is to be swapped in: its copy is lost
  std::function<ErrorId()> write_error;   // asked when something is to be swapped out
  std::function<bool()> begin_error;      // asked when a transfer is to begin ahead of need
  ErrorId refusal_error = 1000;           // handed out at the next refusal, then counted up

  // What the last command did.
  struct Ran {
    Payload payload;
    bool regrow;
  };
  std::vector<Ran> ran;
  std::vector<Action> notices;  // released, erased, retired, forget_swap, swap_out, swap_in
  bool refused = false;
  bool no_pages = false;
  std::size_t required = 0, smallest = 0;
  std::uint8_t refusing_device = 0;
  std::uint64_t action_hash = 0;  // of all actions of all commands
  bool keep_record = true;

  void put(Slot slot, std::size_t bytes, Value value, std::uint8_t device = 0) {
    host_value = value;
    machine.put(slot, device, bytes);
    carry_out();
  }
  void put_foreign(Slot slot, std::size_t bytes, Value value, std::uint8_t device = 0) {
    machine.put_foreign(slot, device, bytes);
    carry_out();
    foreign_[machine.operand(slot).storage] = value;
  }
  void apply(const ApplySpec& spec) {
    machine.apply(spec);
    carry_out();
  }
  void apply(const Call& call) {
    apply(ApplySpec{.payload = call.payload, .device = call.device, .replayable = call.replayable, .fallible = call.fallible,
                    .state = call.state, .measure = call.measure, .inputs = call.inputs, .outputs = call.outputs,
                    .deletes = call.deletes, .workspace = call.workspace});
  }
  void del(Slot slot) { machine.del(slot), carry_out(); }
  void drop(Slot slot) { machine.drop(slot), carry_out(); }
  void swap_out(Slot slot) { machine.swap_out(slot), carry_out(); }
  void swap_in(Slot slot) { machine.swap_in(slot), carry_out(); }
  void look_ahead(const std::vector<Slot>& soon) { machine.look_ahead(soon), carry_out(); }
  // One of the transfers that are under way ends.
  void end_transfer(std::size_t which) {
    const StorageId storage = std::next(transfers_.begin(), static_cast<std::ptrdiff_t>(which))->first;
    const Completion completion = end_of(storage);
    machine.transferred(storage, completion);
    carry_out();
  }
  std::size_t transfers() const { return transfers_.size(); }
  void unexport(StorageId storage) { machine.unexport(storage), carry_out(); }
  void set_budget(std::size_t bytes, std::uint8_t device = 0) {
    machine.set_budget(device, bytes);
    carry_out();
    learn_limits();
  }
  void set_spill(bool on, std::size_t staging = 0) {
    machine.set_spill(on, staging);
    carry_out();
    learn_limits();
  }
  // Its value; it must be good, and the fetch must not be refused.
  Value value(Slot slot) {
    machine.fetch(slot);
    carry_out();
    if (machine.refused() != 0) throw std::logic_error("fetch was refused");
    return read(machine.operand(slot));
  }
  // Whether fetch found room; the value is checked then, unless the slot is poisoned.
  bool fetch(Slot slot, Value expected) {
    machine.fetch(slot);
    carry_out();
    if (machine.refused() != 0) return false;
    if (machine.error_of(slot) != 0) return true;
    if (read(machine.operand(slot)) != expected) throw std::logic_error("slot " + std::to_string(slot) + " has a wrong value");
    return true;
  }

  void carry_out() {
    ran.clear();
    notices.clear();
    refused = false;
    while (const Action* action = machine.next()) {
      if (const std::uint64_t broken = check_budgets(); broken != 0) throw std::logic_error("committed more than the budget");
      note(*action);
      machine.done(answer(*action));
    }
  }

  std::size_t runs(bool regrow) const {
    std::size_t n = 0;
    for (const Ran& each : ran) n += each.regrow == regrow;
    return n;
  }
  std::size_t count(Action::Kind kind) const {
    std::size_t n = 0;
    for (const Action& each : notices) n += each.kind == kind;
    return n;
  }
  std::size_t count(Action::Kind kind, Action::Why why) const {
    std::size_t n = 0;
    for (const Action& each : notices) n += each.kind == kind && each.why == why;
    return n;
  }
  bool retired(Payload payload) const { return retired_.contains(payload); }
  std::size_t live() const { return machine.usage(0).live_bytes; }
  std::size_t swapped() const { return host_.size(); }
  std::size_t committed(std::uint8_t device = 0) const { return memory_[device].granules.size() * granule; }

 private:
  struct Block {
    std::size_t bytes;
    Value value;
  };
  struct Memory {
    std::map<std::uint64_t, Block> blocks;
    std::set<std::uint64_t> granules;  // committed
    std::size_t limit = 0;
  };

  void learn_limits() {
    for (std::size_t device = 0; device < memory_.size(); ++device) {
      const Usage usage = machine.usage(static_cast<std::uint8_t>(device));
      memory_[device].limit = usage.budget_bytes > 0 ? usage.budget_bytes - usage.staging_bytes : 0;
    }
  }

  std::uint64_t check_budgets() const {
    for (const Memory& each : memory_) {
      if (each.limit > 0 && each.granules.size() * granule > each.limit) return 1;
    }
    return 0;
  }

  void note(const Action& action) {
    std::uint64_t h = hash_combine(static_cast<std::uint64_t>(action.kind) * 16 + static_cast<std::uint64_t>(action.why),
                                   action.payload * 2 + action.regrow);
    h = hash_combine(h, action.operand.storage);
    h = hash_combine(h, action.operand.place.offset);
    for (const Operand& each : action.inputs) h = hash_combine(h, each.place.offset);
    for (const Operand& each : action.outputs) h = hash_combine(h, each.place.offset);
    action_hash = hash_combine(action_hash, h);
    if (keep_record && action.kind != Action::Kind::run && action.kind != Action::Kind::pages) notices.push_back(action);
  }

  Value read(const Operand& operand) {
    if (operand.foreign) return foreign_.at(operand.storage);
    if (operand.place.bytes == 0) return 0;
    Memory& memory = memory_[operand.device];
    const auto found = memory.blocks.find(operand.place.offset);
    if (found == memory.blocks.end()) throw std::logic_error("storage " + std::to_string(operand.storage) + ": nothing stands there");
    if (found->second.bytes != operand.place.bytes) throw std::logic_error("a place has two sizes");
    return found->second.value;
  }
  void write(std::uint8_t device, const Place& place, Value value) {
    if (place.bytes == 0) return;
    Memory& memory = memory_[device];
    for (std::uint64_t at = place.offset / granule; at <= (place.offset + place.bytes - 1) / granule; ++at) {
      if (!memory.granules.contains(at)) throw std::logic_error("written where no page is");
    }
    auto next = memory.blocks.lower_bound(place.offset);
    if (next != memory.blocks.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second.bytes > place.offset) memory.blocks.erase(before);
    }
    while (next != memory.blocks.end() && next->first < place.offset + place.bytes) next = memory.blocks.erase(next);
    memory.blocks[place.offset] = {place.bytes, value};
  }

  Completion page(std::uint8_t device, const PageAction& action) {
    Memory& memory = memory_[device];
    const std::uint64_t first = action.offset / granule, count = action.bytes / granule;
    const bool refuses = action.kind != PageAction::Kind::decommit && refuse_pages && refuse_pages();
    if (refuses && action.kind == PageAction::Kind::commit) return {.error = 1};
    for (std::uint64_t i = 0; i < count; ++i) {
      if (action.kind == PageAction::Kind::commit) {
        if (!memory.granules.insert(first + i).second) throw std::logic_error("committed twice");
        continue;
      }
      if (memory.granules.erase(first + i) == 0) throw std::logic_error("moved or decommitted without pages");
      memory.blocks.erase(memory.blocks.lower_bound((first + i) * granule), memory.blocks.lower_bound((first + i + 1) * granule));
      if (action.kind == PageAction::Kind::move && !refuses && !memory.granules.insert(action.to / granule + i).second) {
        throw std::logic_error("moved onto pages");
      }
    }
    return {.error = refuses ? 1u : 0u};
  }

  // What stands there now is what is written; what was written comes to stand there.
  Completion end_of(StorageId storage) {
    const auto found = transfers_.find(storage);
    if (found == transfers_.end()) throw std::logic_error("no such transfer is under way");
    const auto [out, operand] = found->second;
    transfers_.erase(found);
    if (out) {
      if (const ErrorId error = write_error ? write_error() : 0; error != 0) return {.error = error};
      if (!host_.emplace(storage, read(operand)).second) throw std::logic_error("swapped out twice");
      return {.seconds = 1e-6};
    }
    const auto kept = host_.find(storage);
    if (kept == host_.end()) throw std::logic_error("swapped in without a copy");
    if (const ErrorId error = read_error ? read_error() : 0; error != 0) return host_.erase(kept), Completion{.error = error};
    write(operand.device, operand.place, kept->second);
    return {.seconds = 1e-6};
  }

  Completion begin_transfer(const Action& action) {
    if (begin_error && begin_error()) return {.error = 1};
    const bool out = action.kind == Action::Kind::write_ahead;
    if (!transfers_.emplace(action.operand.storage, Transferring{out, action.operand}).second) throw std::logic_error("two transfers");
    return {};
  }

  Completion run(const Action& action) {
    if (retired_.contains(action.payload)) throw std::logic_error("a retired operation runs");
    if (keep_record) ran.push_back({action.payload, action.regrow});
    inputs_.clear();
    for (const Operand& each : action.inputs) inputs_.push_back(read(each));
    if (const auto found = run_errors.find(action.payload); found != run_errors.end()) return {.error = found->second};
    if (const ErrorId error = action.regrow && regrow_error ? regrow_error() : 0; error != 0) return {.error = error};
    write(action.device, action.workspace, 0xdead);
    std::size_t k = 0;
    for (const Operand& each : action.outputs) {
      bool view = false;
      for (const Operand& input : action.inputs) view = view || (input.storage == each.storage && input.foreign == each.foreign);
      const Value value = kernel(action.payload, k++, inputs_);
      if (!view) write(action.device, each.place, value);
    }
    return {.seconds = 1e-6};
  }

  Completion answer(const Action& action) {
    const StorageId storage = action.operand.storage;
    switch (action.kind) {
      case Action::Kind::pages: return page(action.device, action.page);
      case Action::Kind::fill:
        write(action.device, action.operand.place, host_value);
        return {.error = fill_error};
      case Action::Kind::measure:
        for (const Operand& each : action.inputs) read(each);
        return {.error = measure_error, .sizes = sizes};
      case Action::Kind::run: return run(action);
      case Action::Kind::swap_out:
        if (const ErrorId error = write_error ? write_error() : 0; error != 0) return {.error = error};
        if (!host_.emplace(storage, read(action.operand)).second) throw std::logic_error("swapped out twice");
        return {.seconds = 1e-6};
      case Action::Kind::swap_in: {
        const auto found = host_.find(storage);
        if (found == host_.end()) throw std::logic_error("swapped in without a host copy");
        if (const ErrorId error = read_error ? read_error() : 0; error != 0) return host_.erase(found), Completion{.error = error};
        write(action.device, action.operand.place, found->second);
        if (!action.keep) host_.erase(found);
        return {.seconds = 1e-6};
      }
      case Action::Kind::refuse:
        refused = true;
        required = action.required;
        smallest = action.smallest;
        no_pages = action.no_pages;
        refusing_device = action.device;
        return {.error = ++refusal_error};
      case Action::Kind::forget_swap:
        if (host_.erase(storage) == 0) throw std::logic_error("no host copy to forget");
        return {};
      case Action::Kind::released: return {};
      case Action::Kind::write_ahead:
      case Action::Kind::read_ahead: return begin_transfer(action);
      case Action::Kind::await: return end_of(storage);
      case Action::Kind::cancel:
        if (transfers_.erase(storage) == 0) throw std::logic_error("no transfer to cancel");
        return {};
      case Action::Kind::erased: return foreign_.erase(storage), Completion{};
      case Action::Kind::retired:
        if (!retired_.insert(action.payload).second) throw std::logic_error("retired twice");
        return {};
    }
    return {};
  }

  std::vector<Memory> memory_;
  std::unordered_map<StorageId, Value> host_, foreign_;
  struct Transferring {
    bool out;
    Operand operand;
  };
  std::map<StorageId, Transferring> transfers_;
  std::set<Payload> retired_;
  std::vector<Value> inputs_;
};

}  // namespace regrow::machine
