// SPDX-License-Identifier: Apache-2.0
// The callers' side of a channel: checks, infers, names and enqueues. Any thread; one at a time, under the stream's mutex, which is
// never held while waiting.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "regrow/runtime/channel.h"
#include "regrow/runtime/constant_cache.h"
#include "regrow/runtime/executor.h"
#include "regrow/runtime/process.h"
#include "regrow/runtime/slots.h"
#include "regrow/runtime/stream.h"
#include "regrow/runtime/watch.h"
#include "regrow/runtime/worker.h"

namespace regrow {

class Channel::Core final : public runtime::Returns,
                            public runtime::EndsWithProcess,
                            public std::enable_shared_from_this<Channel::Core> {
 public:
  using Kind = runtime::Command::Kind;

  explicit Core(const Options& options);
  void start();  // once, after construction

  // Issuing (issue.cc).
  void apply(const Op& op, std::span<const Handle> inputs, std::span<Handle> outputs, Site site, const RandomState* random);
  std::vector<Handle> apply(const Op& op, std::span<const Handle> inputs, Site site);
  Handle put(HostArray value, const PutOptions& options, Site site);
  Handle put(DeviceTensor tensor, Site site);
  void del(Handle handle) noexcept;

  // Asking (ask.cc).
  Desc desc(Handle handle, Site site, bool shape_too);
  HostArray value(Handle handle, Site site);
  DeviceTensor dev_tensor(Handle handle, Site site);
  bool host_value(Handle handle, HostArray& value);
  void wait(Handle handle, Site site);
  void move(Kind kind, Handle handle, bool force, Site site);
  MemoryReport memory(Device device, Site site);
  void reset_peak(Device device);
  void set_budget(std::size_t bytes, Device device, Site site);
  void set_spill(std::unique_ptr<memory::SpillStore> store, Site site);
  void sync(Site site);

  // Settings and observation (settings.cc).
  RandomState random_state();
  void set_random_state(RandomState state);
  RandomState next_random();
  void set_option(std::string_view name, std::size_t value, Site site);
  void set_option(std::string_view name, std::string_view value, Site site);
  std::size_t get_option(std::string_view name, Site site);
  void end_step();
  void record_step(StepWanted wanted, StepTaker taker, Site site);
  void tune(const PolicyTuning& tuning, Site site);
  void observe(Observer* observer);
  void start_profile();
  void stop_profile();
  void push_scope(std::string_view name);
  void pop_scope(std::string_view name, Site site);
  void mark(std::string_view text);

  // The end (core.cc).
  void close(Site site);
  bool closed() const noexcept { return state_.load() != State::open || stream_.broken.load(); }
  std::uint64_t failed_puts() const noexcept { return stream_.failed_puts.load(std::memory_order_relaxed); }
  bool from_before_fork() const noexcept { return born_at_fork_ != runtime::fork_count(); }
  void take_back(machine::StorageId storage) noexcept override;
  void end() noexcept override;

 private:
  enum class State : std::uint8_t { open, closing, closed };
  using Lock = std::unique_lock<std::mutex>;
  using Slot = runtime::Slot;
  using Command = runtime::Command;

  // What became of an operation, for the events that are sent without the mutex.
  struct Issued {
    std::uint64_t id = 0, time_ns = 0;
    std::vector<std::uint64_t> inputs, outputs;
    std::vector<Desc> descs;
    std::string scope;
    bool on_host = false;
  };

  // Entering (core.cc).
  void check_thread(Site site) const;     // not forked, not inside a callback
  Lock enter(Site site);                  // locked, open
  void check_open(Lock& lock, Site site);
  Lock enter_with_room(Site site);        // locked, open, and room in the queue
  bool full() const noexcept;
  // Leaving: the command enters the stream; the lock is released, then what is to be observed is told. `flush`: all of the window goes
  // to the worker.
  void commit(const Command& command) noexcept;
  void leave(Lock& lock, bool flush) noexcept;
  void wait_for(runtime::Waiter& waiter, Kind kind, std::uint64_t id) noexcept;
  void tell_noted(Lock& lock) noexcept;

  // Issuing (issue.cc).
  Lock prepare(const Op& op, std::span<const Handle> inputs, Site site);
  void submit(Lock& lock, const Op& op, std::span<Handle> outputs, Site site, const RandomState* random);
  bool host_computable(const OpRecord& record) const noexcept;
  bool compute_on_host(const Op& op, std::span<Handle> outputs);
  std::uint64_t enqueue(const Op& op, std::span<Handle> outputs, Site site, RandomState random, runtime::Waiter* waiter);
  void materialize(Slot& slot, Site site);
  void name(Slot& slot, Command& command) noexcept;
  void enqueue_put(Slot& slot, HostArray value, Site site, runtime::Waiter* waiter);
  void drop_reference(Slot* target) noexcept;
  void forget_failed_constants();
  void note_issued(Issued& issued, std::span<Handle> outputs);
  void tell_issued(const Issued& issued, const Op& op) const;
  std::string scope_path() const;

  // Settings and observation (settings.cc).
  std::vector<std::pair<std::uint64_t, Desc>> only_here();
  void end_profile();

  // Asking (ask.cc).
  Command& ask(Kind kind, Slot& slot, runtime::Waiter& waiter, Site site);
  void learn(Handle handle, const Desc& desc);
  void finish_question(Lock& lock, runtime::Waiter& waiter, const Command& command);

  runtime::Stream stream_;
  Options options_;
  runtime::SlotTable slots_;
  runtime::ConstantCache constants_;
  RandomState random_;
  std::vector<std::string> scopes_;
  runtime::Watch watch_;
  std::vector<Event> noted_;  // by the call that holds the mutex, to be told without it: names are static
  std::array<std::size_t, max_devices> budgets_{};
  std::size_t window_bytes_ = 0;  // of host values since the window was last empty
  std::uint64_t known_failed_puts_ = 0;
  mutable std::uint64_t known_executed_ = 0;
  bool warned_drop_ = false, warned_swap_ = false;
  std::atomic<State> state_{State::open};
  std::uint32_t born_at_fork_;
  // Scratch of the call that holds the mutex.
  std::vector<Slot*> in_slots_;
  std::vector<const Desc*> in_descs_;
  std::vector<OutDesc> inferred_;
  std::vector<HostArray> computed_;

  runtime::Worker worker_{stream_};
};

}  // namespace regrow
