// SPDX-License-Identifier: Apache-2.0
#include "regrow/runtime/step_recorder.h"

#include <algorithm>
#include <utility>

#include "regrow/base/clock.h"
#include "regrow/base/hash.h"
#include "regrow/base/log.h"
#include "regrow/runtime/process.h"

namespace regrow::runtime {
namespace {

constexpr remat::TensorId unknown = ~remat::TensorId{0};

void hand_over(const RecordedStep& step, const StepTaker& taker) {
  const CallbackScope scope;
  try {
    taker(step);
  } catch (const std::exception& error) {
    log().warn("record_step: {}", error.what());
  }
}

}  // namespace

remat::TensorId& StepRecorder::tensor(machine::Slot slot) {
  if (slot >= tensors_.size()) tensors_.resize(slot + std::size_t{1}, unknown);
  return tensors_[slot];
}

void StepRecorder::issued(std::uint64_t key) noexcept { likeness_ = hash_combine(likeness_, key); }

void StepRecorder::put(machine::Slot slot, std::uint8_t device, std::size_t bytes) { tensor(slot) = trace_.put(bytes, device); }

void StepRecorder::applied(const machine::ApplySpec& spec, std::string_view name, double seconds) {
  inputs_.clear(), deletes_.clear(), outputs_.clear();
  for (machine::Slot slot : spec.inputs) inputs_.push_back(tensor(slot));
  for (machine::Slot slot : spec.deletes) deletes_.push_back(tensor(slot));
  for (const machine::OutputSpec& output : spec.outputs)
    outputs_.push_back({.bytes = output.view_of < 0 ? output.bytes : 0, .view_of = output.view_of, .reuse = output.reuse});
  remat::TensorId next = trace_.apply({.name = name,
                                       .key = spec.key,
                                       .seconds = seconds,
                                       .workspace = spec.workspace,
                                       .device = spec.device,
                                       .replayable = spec.replayable,
                                       .fallible = spec.fallible,
                                       .state = spec.state,
                                       .inputs = inputs_,
                                       .outputs = outputs_,
                                       .deletes = deletes_});
  for (const machine::OutputSpec& output : spec.outputs) tensor(output.slot) = next++;
}

void StepRecorder::deleted(machine::Slot slot) { trace_.release(tensor(slot)); }
void StepRecorder::wanted(machine::Slot slot) { trace_.want(tensor(slot)); }
void StepRecorder::exported(machine::Slot slot) { trace_.pin(tensor(slot)); }

bool StepRecorder::matches(const StepWanted& wanted) const noexcept {
  if (wanted.skip > 0) return false;
  if (wanted.unlike != 0 && wanted.unlike == likeness_) return false;
  return !wanted.settled || likeness_ == likeness_before_;
}

bool StepRecorder::step_ended(std::uint64_t number, std::size_t budget_bytes) {
  likeness_ = hash_combine(likeness_, budget_bytes);
  if (records_) finish(number, budget_bytes);
  const bool any = std::any_of(requests_.begin(), requests_.end(), [&](const Request& each) { return matches(each.wanted); });
  for (Request& each : requests_) each.wanted.skip -= each.wanted.skip > 0;
  likeness_before_ = std::exchange(likeness_, 0);
  ended_ns_ = requests_.empty() ? 0 : now_ns();
  return any;
}

// A step that turned out to be of another kind than was asked for is forgotten.
void StepRecorder::finish(std::uint64_t number, std::size_t budget_bytes) {
  records_ = false;
  RecordedStep step{.trace = std::move(trace_),
                    .number = number,
                    .likeness = likeness_,
                    .budget_bytes = budget_bytes,
                    .seconds = static_cast<double>(now_ns() - ended_ns_) * 1e-9};
  const auto served =
      std::stable_partition(requests_.begin(), requests_.end(), [&](const Request& each) { return !matches(each.wanted); });
  for (auto each = served; each != requests_.end(); ++each) hand_over(step, each->taker);
  requests_.erase(served, requests_.end());
}

void StepRecorder::begin() {
  trace_ = {};
  std::fill(tensors_.begin(), tensors_.end(), unknown);
  first_of_.clear();
  records_ = true;
}

void StepRecorder::stands(machine::Slot slot, machine::StorageId storage, std::uint8_t device, std::size_t bytes) {
  if (storage >= first_of_.size()) first_of_.resize(storage + std::size_t{1}, unknown);
  if (first_of_[storage] == unknown) {
    tensor(slot) = first_of_[storage] = trace_.put(bytes, device);
    return;
  }
  const remat::TraceOutput view{.view_of = 0};
  tensor(slot) = trace_.apply({.name = "view", .device = device, .inputs = {&first_of_[storage], 1}, .outputs = {&view, 1}});
}

}  // namespace regrow::runtime
