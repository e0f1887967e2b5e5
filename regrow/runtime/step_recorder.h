// SPDX-License-Identifier: Apache-2.0
// Writes down a step's operations as a trace, for who asked for one: from one end of a step to the next. Worker only.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "regrow/machine/machine.h"
#include "regrow/runtime/recorded_step.h"

namespace regrow::runtime {

class StepRecorder {
 public:
  void want(const StepWanted& wanted, StepTaker taker) { requests_.push_back({wanted, std::move(taker)}); }
  bool listens() const noexcept { return !requests_.empty(); }  // to what is issued
  bool records() const noexcept { return records_; }

  // While it listens.
  void issued(std::uint64_t key) noexcept;
  // While it records: what the machine was told, in the same order.
  void put(machine::Slot slot, std::uint8_t device, std::size_t bytes);
  void applied(const machine::ApplySpec& spec, std::string_view name, double seconds);
  void deleted(machine::Slot slot);
  void wanted(machine::Slot slot);
  void exported(machine::Slot slot);
  // Something that a trace has no words for: the step is not recorded.
  void give_up() noexcept { records_ = false; }

  // A step has ended. True: the next one is to be recorded, after begin() and stands() for each live slot.
  bool step_ended(std::uint64_t number, std::size_t budget_bytes);
  void begin();
  // Slots that share a storage are views of the first of them.
  void stands(machine::Slot slot, machine::StorageId storage, std::uint8_t device, std::size_t bytes);

 private:
  struct Request {
    StepWanted wanted;
    StepTaker taker;
  };
  remat::TensorId& tensor(machine::Slot slot);
  bool matches(const StepWanted& wanted) const noexcept;
  void finish(std::uint64_t number, std::size_t budget_bytes);

  std::vector<Request> requests_;
  bool records_ = false;
  std::uint64_t likeness_ = 0, likeness_before_ = 0;  // of this step so far, of the one before
  std::uint64_t ended_ns_ = 0;
  remat::Trace trace_;
  std::vector<remat::TensorId> tensors_;   // by slot
  std::vector<remat::TensorId> first_of_;  // by storage, while a recording begins
  // Scratch.
  std::vector<remat::TensorId> inputs_, deletes_;
  std::vector<remat::TraceOutput> outputs_;
};

}  // namespace regrow::runtime
