// SPDX-License-Identifier: Apache-2.0
// The interpreter channel: tensor operations go in one by one, a worker runs them in order. Any thread may call; calls from several
// threads enter the stream in some order. A call from inside a callback or an observer throws.
//
// Which calls block: get_value, get_dev_tensor, wait, sync, close, memory, reset_peak_memory, the setters of budget and spill
// directory; get_shape of a data-dependent result; every call at async level 0 (1: those whose result shape is unknown when issued);
// and any issuing call while the queue is full. del never blocks.
//
// On a closed channel every call but del and close throws Error. Errors of operations: DESIGN 1.2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "regrow/events/event.h"
#include "regrow/memory/spill_options.h"
#include "regrow/ops/op.h"
#include "regrow/runtime/callback.h"
#include "regrow/runtime/device_tensor.h"
#include "regrow/runtime/handle.h"
#include "regrow/runtime/memory_report.h"
#include "regrow/runtime/options.h"
#include "regrow/runtime/recorded_step.h"
#include "regrow/tensor/host_array.h"

namespace regrow {

struct PutOptions {
  bool no_cache = false;  // equal small constants share one immutable storage; this one has its own
  Device device = {};
};

class Channel {
 public:
  explicit Channel(Options options = Options::from_environment());
  ~Channel();  // closes; logs an error that nobody was told
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // A host value (its memory is shared, not copied, until the worker has it on the device).
  Handle put(HostArray value, PutOptions options = {}, Site site = Site::here());
  // Another channel's tensor, or this one's, without a copy.
  Handle put(DeviceTensor tensor, Site site = Site::here());
  void del(Handle handle) noexcept;  // any thread; a stale handle is ignored

  // One handle an output. Throws shape and type errors here, before anything is queued.
  std::vector<Handle> apply_op(const Op& op, std::initializer_list<Handle> inputs, Site site = Site::here()) {
    return apply_op(op, std::span<const Handle>(inputs.begin(), inputs.size()), site);
  }
  std::vector<Handle> apply_op(const Op& op, std::span<const Handle> inputs, Site site = Site::here());
  // The same for callers that count nanoseconds: `outputs` has the size of the operator's outputs (fixed count), no allocation.
  // A seeded operator takes `random`, or the channel's next state where it is null.
  void apply(const Op& op, std::span<const Handle> inputs, std::span<Handle> outputs, Site site, const RandomState* random = nullptr);

  HostArray get_value(Handle handle, Site site = Site::here());
  Shape get_shape(Handle handle, Site site = Site::here());
  DType get_dtype(Handle handle, Site site = Site::here());
  Device get_device(Handle handle, Site site = Site::here());
  // Type, device and, where known without waiting, shape.
  Desc get_desc(Handle handle, Site site = Site::here());
  DeviceTensor get_dev_tensor(Handle handle, Site site = Site::here());
  // The value if it is known on the host already; never waits.
  bool host_value(Handle handle, HostArray& value) const;
  void wait(Handle handle, Site site = Site::here());

  // Memory by hand. Ignored (with a warning once) unless enable_drop, enable_swap; `force` acts always.
  void drop(Handle handle, bool force = false, Site site = Site::here());
  void swap_out(Handle handle, Site site = Site::here());
  void swap_in(Handle handle, Site site = Site::here());

  // Random numbers are functions of (key, counter, element index); the counter advances by one an operation, in issue order.
  void seed(std::uint64_t key);
  RandomState random_state() const;
  void set_random_state(RandomState state);
  RandomState next_random();  // takes one

  MemoryReport memory(Device device = {}, Site site = Site::here());
  void reset_peak_memory(Device device = {});
  void set_memory_budget(std::size_t bytes, Device device = {}, Site site = Site::here());
  void clear_memory_budget(Device device = {});
  // What leaves the arenas goes to a file there, which is made if need be and has no name: nothing is left behind. Throws Error if the
  // directory cannot be used, OutOfBudget if there is no room for the staging buffer; then the old setting stays.
  void set_spill_directory(const std::filesystem::path& directory, SpillOptions options = {}, Site site = Site::here());
  // What is there comes to the host's memory, and what leaves from now on as well.
  void clear_spill_directory(Site site = Site::here());

  void set_option(std::string_view name, std::size_t value, Site site = Site::here());
  void set_option(std::string_view name, std::string_view value, Site site = Site::here());  // a number, or the name of a value
  std::size_t get_option(std::string_view name, Site site = Site::here()) const;

  // Steps: a program that does much the same again and again says where one ends (optimizers do).
  void end_step();
  // Hands over the next step that is as wanted; never, if there is none before the channel is closed.
  void record_step(StepWanted wanted, StepTaker taker, Site site = Site::here());
  // Takes effect at the end of a step, until the budget or the policy changes.
  void tune(const PolicyTuning& tuning, Site site = Site::here());

  // Observation: events reach the observer between start_profile and stop_profile. null: nobody. Both take their place in the stream.
  void observe(Observer* observer);
  void start_profile();
  void stop_profile();
  void push_scope(std::string_view name);
  void pop_scope(std::string_view name, Site site = Site::here());  // Error if `name` is not the innermost scope
  void mark(std::string_view text);

  // Waits until all that was issued has run; throws the earliest error that nobody was told (DESIGN 1.2).
  void sync(Site site = Site::here());
  // Deletes what lives, syncs, ends the worker. Twice is harmless.
  void close(Site site = Site::here());
  bool closed() const noexcept;
  // How many puts have failed so far: who keeps handles of constants to use them again lets go of them when it has changed.
  std::uint64_t failed_puts() const noexcept;

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace regrow
