// SPDX-License-Identifier: Apache-2.0
// What the caller's side tells the worker: a plain struct that lives in a block of the command buffer and is used again, so that in
// the steady state a command costs no allocation. Written under the channel's mutex until it is released, read by the worker after.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "regrow/events/event.h"
#include "regrow/memory/spill_store.h"
#include "regrow/ops/op.h"
#include "regrow/runtime/device_tensor.h"
#include "regrow/runtime/options.h"
#include "regrow/runtime/recorded_step.h"
#include "regrow/runtime/waiter.h"
#include "regrow/tensor/host_array.h"

namespace regrow::runtime {

using SlotIndex = std::uint32_t;

struct CommandOutput {
  SlotIndex slot = 0;
  int view_of = -1;
  std::int64_t view_offset = 0;  // elements
  std::uint64_t tensor = 0;      // unique over the channel's life
  Desc desc;
};

// For the planner: what it wants to see, or what it has found.
struct Planning {
  StepWanted wanted;
  StepTaker taker;
  PolicyTuning tuning;
};

struct Command {
  enum class Kind : std::uint8_t {
    apply,        // op, inputs -> outputs; deletes
    put,          // outputs[0] from `host`
    put_foreign,  // outputs[0] from `foreign`
    del,          // inputs[0]
    settle,       // wait until inputs[0] has a value or an error
    read,         // inputs[0] -> waiter->value
    hand_out,     // inputs[0] -> waiter->tensor
    take_back,    // storage `value`: one export less
    drop, swap_out, swap_in,  // inputs[0]
    set_option,   // `member` = value
    set_budget,   // device, value
    set_spill,    // `spill`; null: none
    reset_peak,   // device
    report,       // device -> waiter->report
    observe, start_profile, stop_profile,  // observer
    end_step,
    record_step, tune,  // planning
    sync,
    stop,         // sync, then the worker ends
  };

  Kind kind = Kind::apply;
  bool ends_batch = false;   // the last command of a release: elementwise neighbours fuse up to here
  bool infer_late = false;   // apply: some input's shape was unknown when it was issued
  std::uint8_t device = 0;
  std::uint64_t id = 0;      // its place in the stream, from 1
  std::optional<Op> op;
  RandomState random;
  Site site;
  Waiter* waiter = nullptr;
  absl::InlinedVector<SlotIndex, 4> inputs;
  absl::InlinedVector<SlotIndex, 4> deletes;  // slots that die with it
  absl::InlinedVector<CommandOutput, 1> outputs;
  std::uint64_t value = 0;
  std::size_t Options::*member = nullptr;
  Observer* observer = nullptr;
  bool has_host = false;
  HostArray host;
  std::unique_ptr<DeviceTensor> foreign;
  std::unique_ptr<Planning> planning;
  std::unique_ptr<memory::SpillStore> spill;

  // Ready for its next use; vectors keep what they hold.
  void reset() {
    ends_batch = infer_late = false;
    device = 0;
    waiter = nullptr;
    op.reset();
    inputs.resize(0);
    deletes.resize(0);
    outputs.resize(0);
    if (has_host) host = HostArray(), has_host = false;
    if (foreign) foreign.reset();
    if (planning) planning.reset();
    if (spill) spill.reset();
  }
};

std::string_view name_of(Command::Kind kind) noexcept;

}  // namespace regrow::runtime
