// SPDX-License-Identifier: Apache-2.0
// The worker's hands: feeds commands to the machine and carries out what it decides, on real bytes. Worker only.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "regrow/machine/machine.h"
#include "regrow/memory/host_store.h"
#include "regrow/runtime/command_buffer.h"
#include "regrow/runtime/device_memory.h"
#include "regrow/runtime/error_ledger.h"
#include "regrow/runtime/fusion.h"
#include "regrow/runtime/metered_policy.h"
#include "regrow/runtime/options.h"
#include "regrow/runtime/step_recorder.h"
#include "regrow/runtime/spill_thread.h"
#include "regrow/runtime/values.h"
#include "regrow/runtime/watch.h"

namespace regrow::runtime {

// Who takes back a storage that was handed out, whenever its last holder lets go. Called from any thread.
class Returns {
 public:
  virtual ~Returns() = default;
  virtual void take_back(machine::StorageId storage) noexcept = 0;
};

class Executor {
 public:
  Executor(const Options& options, std::weak_ptr<Returns> returns);

  // Carries out the command at the head, with the neighbours that fuse with it; returns how many commands that were.
  std::size_t execute(CommandBuffer::Cursor head);
  // The worker has nothing to do: the next operation's time does not begin where the last one ended.
  void idle() noexcept { last_end_ns_ = 0; }
  // With catch_worker_exception = 0: the first error. Null: go on.
  std::exception_ptr fatal() noexcept { return std::exchange(fatal_, nullptr); }
  std::uint64_t failed_puts() const noexcept { return failed_puts_; }

 private:
  using ErrorId = machine::ErrorId;
  using Action = machine::Action;

  // A storage as the shell knows it, by the machine's id.
  struct Storage {
    std::uint64_t tensor = 0;  // that it was made for; 0: none has bytes here
    std::size_t bytes = 0;
    std::uint64_t hash = 0;    // with the option verify: of its first bytes; 0: unknown
    bool resident = false;
    std::uint8_t device = 0;
    std::unique_ptr<DeviceTensor> foreign;
    std::byte* foreign_base = nullptr;
  };

  // Operations (apply.cc).
  void apply(Command& command);
  void load(Command& command, Operation& operation);
  bool infer_late(Command& command);
  void poison(Command& command, ErrorId error);
  machine::ApplySpec submit(Command& command, machine::Payload payload);
  void record(Command& command, machine::ApplySpec& spec, std::string_view name);
  std::uint32_t reuse_mask(const Operation& operation, std::size_t output) const;
  void finish_apply(Command& command, ErrorId inherited);

  // Commands (executor.cc).
  void carry_out(Command& command);
  void put(Command& command);
  void put_foreign(Command& command);
  void del(SlotIndex slot);
  void read(Command& command);
  void hand_out(Command& command);
  void drop(Command& command);
  void swap(Command& command);
  void set_budget(Command& command);
  void report(Command& command);
  void answer(Command& command, ErrorId error);
  ErrorId error_of(SlotIndex slot) const;
  void forget_slot(SlotIndex slot);
  void note_error(SlotIndex slot, ErrorId error);
  ErrorId fail(Failure failure, bool of_operation = true);
  void set_option(const Command& command);
  void set_policy();
  void set_eviction();
  void end_step();
  void begin_recording();

  // What the machine wants done (actions.cc).
  void drive(const Command& command);
  machine::Completion act(const Action& action, const Command& command);
  machine::Completion pages(const Action& action);
  machine::Completion run(const Action& action);
  machine::Completion measure(const Action& action);
  machine::Completion refuse(const Action& action, const Command& command);
  void fill(const Action& action, const Command& command);
  void compute(Operation& operation, const Action& action);
  void verify(const Operation& operation, const Action& action);
  void views_of(std::span<const machine::Operand> operands, std::span<Value* const> values, std::vector<View>& out);
  std::byte* base_of(const machine::Operand& operand);
  Failure failure_of(const Operation& operation) const;  // of the exception being handled

  // Bytes outside the arenas (spilling.cc).
  machine::Completion swap_out(const Action& action);
  machine::Completion swap_in(const Action& action);
  machine::Completion begin_ahead(const Action& action);
  machine::Completion await(const Action& action);
  void cancel(const Action& action);
  void forget_copy(machine::StorageId id);
  SpillThread::Request request_for(const Action& action, SpillThread::Request::Kind kind);
  SpillThread::Result move_on_host(const SpillThread::Request& request);
  SpillThread::Result wait_for(machine::StorageId id);
  machine::Completion written(const SpillThread::Result& result);
  machine::Completion read_back(const SpillThread::Result& result, bool has_recipe);
  void tell_transfers();
  void look_ahead(CommandBuffer::Cursor at, std::size_t commands);
  void set_spill(Command& command);
  void limit_arena(std::uint8_t device);

  // Events (observation.cc).
  std::string_view command_name(const Command& command) const;
  void announce_run(const Operation& operation, const Action& action, bool begins);
  void made(const machine::Operand& operand, const Value& value);
  void tell_produced(const Value& value);
  void tell_release(Storage& kept, std::uint8_t device, std::string_view why, bool survives);
  void released(const Action& action);
  void erased(const Action& action);
  void sample_memory();
  void start_profile();
  void stop_profile();

  Storage& storage(machine::StorageId id) {
    if (id >= storages_.size()) [[unlikely]] storages_.resize(id + id / 2 + 64);
    return storages_[id];
  }
  Value*& slot(SlotIndex index) {
    if (index >= slots_.size()) [[unlikely]] slots_.resize(index + index / 2 + 256);
    return slots_[index];
  }

  std::weak_ptr<Returns> returns_;
  std::shared_ptr<DeviceMemory> memory_;
  Options options_;
  std::unique_ptr<MeteredPolicy> policy_;
  machine::Machine machine_;
  memory::HostStore host_;               // of what is swapped out
  std::unique_ptr<SpillThread> spill_;   // the same, if it goes to disk
  std::uint64_t spilled_before_ = 0;     // bytes, to other directories
  double stall_seconds_ = 0;
  std::deque<SpillThread::Result> ended_;  // transfers that the machine has not been told of
  ValuePool values_;
  OperationTable operations_{values_};
  ErrorLedger errors_;
  Fusion fusion_;
  Watch watch_;
  std::vector<Value*> slots_;
  std::vector<Storage> storages_;
  std::array<std::size_t, max_devices> budgets_{};

  StepRecorder recorder_;
  std::uint64_t steps_ = 0;              // that have ended
  std::unique_ptr<PolicyTuning> next_tuning_;  // for when this step ends
  PolicyTuning tuning_;
  std::uint64_t tuned_step_ = 0;         // after which a tuning took effect first; 0: none did

  std::exception_ptr fatal_;
  Command no_command_;             // stands for commands that are parts of others
  machine::Payload current_ = 0;   // apply: the operation that runs
  std::string_view neediest_;      // fused: the member to name when it does not fit
  ErrorId last_error_ = 0;         // of the command that runs: what the operation itself failed with
  bool regrowing_failed_ = false;  // ever, or a value could not be read back: then values may be poisoned that were good
  std::exception_ptr no_pages_;    // why the system refused pages, the last time
  std::uint64_t operators_ = 0, failed_puts_ = 0;
  std::uint64_t last_end_ns_ = 0;
  double last_run_seconds_ = 0;    // of an operation of the program
  bool warned_ = false;            // of a drop that was ignored

  // Scratch, kept for its capacity.
  std::vector<machine::OutputSpec> output_specs_;
  std::vector<machine::Slot> deletes_;
  std::vector<const Desc*> in_descs_, out_descs_;
  std::vector<OutDesc> inferred_;
  std::vector<View> in_views_, out_views_;
  std::vector<std::size_t> sizes_;
  std::vector<std::uint64_t> scratch_ids_, delete_ids_;
  std::vector<machine::Slot> soon_;
  struct Sample {
    std::size_t live = 0, committed = 0;
  };
  std::array<Sample, max_devices> sampled_{};  // what an observer was told last
};

}  // namespace regrow::runtime
