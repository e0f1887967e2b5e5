// SPDX-License-Identifier: Apache-2.0
// Calls that make tensors: checked and inferred here, on the caller's thread, then enqueued or computed at once.
#include <fmt/format.h>

#include "regrow/base/clock.h"
#include "regrow/ops/var.h"
#include "regrow/runtime/core.h"
#include "regrow/runtime/host_compute.h"

namespace regrow {

using runtime::Waiter;

// Locks; resolves the handles, then infers: everything that can be wrong with the call is found before anything changes.
Channel::Core::Lock Channel::Core::prepare(const Op& op, std::span<const Handle> inputs, Site site) {
  Lock lock = enter_with_room(site);
  in_slots_.clear(), in_descs_.clear();
  for (Handle handle : inputs) {
    Slot& slot = slots_.tensor(handle, site);
    in_slots_.push_back(&slot);
    in_descs_.push_back(&slot.desc);
  }
  try {
    infer(op, in_descs_, inferred_);
  } catch (const Error& error) {
    throw Error(error.message(), site);
  }
  return lock;
}

void Channel::Core::apply(const Op& op, std::span<const Handle> inputs, std::span<Handle> outputs, Site site,
                          const RandomState* random) {
  Lock lock = prepare(op, inputs, site);
  if (inferred_.size() != outputs.size()) fail_at(site, "{}: has {} outputs, not {}", op.name(), inferred_.size(), outputs.size());
  submit(lock, op, outputs, site, random);
}

std::vector<Handle> Channel::Core::apply(const Op& op, std::span<const Handle> inputs, Site site) {
  Lock lock = prepare(op, inputs, site);
  std::vector<Handle> outputs(inferred_.size());
  submit(lock, op, outputs, site, nullptr);
  return outputs;
}

void Channel::Core::submit(Lock& lock, const Op& op, std::span<Handle> outputs, Site site, const RandomState* random) {
  const OpRecord& record = op.record();
  RandomState state;
  if (record.replay == Replay::seeded) {
    state = random ? *random : random_;
    if (!random) ++random_.counter;
  }
  std::optional<Issued> issued;
  if (watch_) [[unlikely]] issued.emplace();

  if (host_computable(record) && compute_on_host(op, outputs)) {
    if (issued) issued->on_host = true, note_issued(*issued, outputs);
    tell_noted(lock);
    if (issued) tell_issued(*issued, op);
    return;
  }
  bool known = true;
  for (const OutDesc& out : inferred_) known = known && out.known;
  Waiter waiter;
  const bool waits = options_.async_level == 0 || (options_.async_level == 1 && !known);
  const std::uint64_t id = enqueue(op, outputs, site, state, waits ? &waiter : nullptr);
  if (issued) issued->id = id, note_issued(*issued, outputs);
  leave(lock, waits || &record == &record_of<"callback">());
  if (issued) [[unlikely]] tell_issued(*issued, op);
  if (!waits) return;
  wait_for(waiter, Kind::apply, id);
  if (waiter.error) {
    for (Handle& output : outputs) del(output), output = {};
    std::rethrow_exception(waiter.error);
  }
  for (std::size_t k = 0; !known && k < outputs.size(); ++k) learn(outputs[k], waiter.descs[k]);
}

std::uint64_t Channel::Core::enqueue(const Op& op, std::span<Handle> outputs, Site site, RandomState random, Waiter* waiter) {
  bool known = true;
  for (Slot* slot : in_slots_) {
    known = known && slot->desc.known;
    if (!slot->on_worker) [[unlikely]] materialize(*slot, site);
  }
  Command& command = stream_.buffer.begin(Kind::apply, site);
  command.op = op;
  command.random = random;
  command.waiter = waiter;
  command.infer_late = !known;
  command.device = inferred_.empty() ? 0 : inferred_[0].device.index;
  for (Slot* slot : in_slots_) {
    command.inputs.push_back(slot->index);
    name(*slot, command);
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const OutDesc& out = inferred_[k];
    Slot& slot = slots_.create();
    slot.desc = out;
    slot.on_worker = true;
    name(slot, command);
    runtime::CommandOutput& output = command.outputs.emplace_back();
    output.slot = slot.index;
    output.view_of = out.view_of;
    output.view_offset = out.view_offset;
    output.tensor = slot.tensor;
    output.desc = out;
    outputs[k] = slots_.handle_of(slot);
  }
  commit(command);
  return command.id;
}

void Channel::Core::name(Slot& slot, Command& command) noexcept {
  slot.last_use = command.id;
  slot.last_command = &command;
}

// ---- Host compute ----

// Whether all that the operation reads is known here and small, so that it need not wait for the worker. Only whole numbers and truth
// values are worth it: shapes, and the arithmetic on them.
bool Channel::Core::host_computable(const OpRecord& record) const noexcept {
  if (in_slots_.empty() || !options_.enable_host_compute || record.replay != Replay::pure || record.state) return false;
  const bool values_needed = runtime::reads_values(record);
  for (const Slot* slot : in_slots_)
    if (values_needed ? !slot->has_host : !slot->desc.known) return false;
  for (const OutDesc& out : inferred_)
    if (!out.known || is_floating(out.dtype) || out.count() > runtime::most_host_elements) return false;
  return true;
}

bool Channel::Core::compute_on_host(const Op& op, std::span<Handle> outputs) {
  std::array<const HostArray*, 8> values{};
  if (in_slots_.size() > values.size()) return false;
  for (std::size_t i = 0; i < in_slots_.size(); ++i) values[i] = &in_slots_[i]->host;
  if (!runtime::compute_on_host(op, {values.data(), in_slots_.size()}, in_descs_, inferred_, computed_)) return false;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    Slot& slot = slots_.create();
    slot.desc = inferred_[k];
    slot.has_host = true;
    slot.host = std::move(computed_[k]);
    outputs[k] = slots_.handle_of(slot);
  }
  return true;
}

// A value that was computed here is wanted on the worker after all.
void Channel::Core::materialize(Slot& slot, Site site) { enqueue_put(slot, slot.host, site, nullptr); }

// ---- Puts ----

void Channel::Core::enqueue_put(Slot& slot, HostArray value, Site site, Waiter* waiter) {
  Command& command = stream_.buffer.begin(Kind::put, site);
  stream_.queued_bytes.fetch_add(value.bytes());
  command.device = slot.desc.device.index;
  command.waiter = waiter;
  command.host = std::move(value);
  command.has_host = true;
  runtime::CommandOutput& output = command.outputs.emplace_back();
  output.slot = slot.index;
  output.tensor = slot.tensor;
  output.desc = slot.desc;
  slot.on_worker = true;
  name(slot, command);
  window_bytes_ += command.host.bytes();
  commit(command);
}

Handle Channel::Core::put(HostArray value, const PutOptions& options, Site site) {
  if (options.device.index >= max_devices) fail_at(site, "put: no device {}", to_string(options.device));
  Lock lock = enter_with_room(site);
  const bool shared = !options.no_cache && runtime::ConstantCache::accepts(value);
  if (shared) {
    forget_failed_constants();
    if (Slot* known = constants_.find(value, options.device, slots_)) {
      const Handle handle = slots_.handle_of(slots_.create_alias(*known));
      leave(lock, false);
      return handle;
    }
  }
  Slot& slot = slots_.create();
  slot.desc = Desc::dense(value.dtype(), value.shape(), options.device);
  slot.has_host = value.count() <= runtime::most_host_elements;
  if (slot.has_host) slot.host = value;
  Waiter waiter;
  const bool waits = options_.async_level == 0;
  const std::size_t bytes = value.bytes();
  enqueue_put(slot, std::move(value), site, waits ? &waiter : nullptr);
  const std::uint64_t id = slot.last_use, tensor = slot.tensor;
  Handle handle = slots_.handle_of(slot);
  if (shared) {
    Slot* gave_way = constants_.insert(slot, slots_);
    handle = slots_.handle_of(slots_.create_alias(slot));
    if (gave_way && --gave_way->references == 0) drop_reference(gave_way);
  }
  const Desc desc = slot.desc;
  const std::string scope = watch_ ? scope_path() : std::string();
  leave(lock, waits);
  if (watch_) [[unlikely]] {
    watch_.emit({.kind = EventKind::tensor_declare, .device = desc.device.index, .tensor = tensor, .bytes = bytes,
                 .name = scope + "put", .desc = &desc});
  }
  if (!waits) return handle;
  wait_for(waiter, Kind::put, id);
  if (!waiter.error) return handle;
  del(handle);
  std::rethrow_exception(waiter.error);
}

// A constant that did not fit must be tried again by the next put.
void Channel::Core::forget_failed_constants() {
  const std::uint64_t failed = stream_.failed_puts.load(std::memory_order_relaxed);
  if (failed == known_failed_puts_) [[likely]] return;
  known_failed_puts_ = failed;
  constants_.clear(slots_, [&](Slot& slot) {
    if (--slot.references == 0) drop_reference(&slot);
  });
}

Handle Channel::Core::put(DeviceTensor tensor, Site site) {
  if (!tensor) fail_at(site, "put: the device tensor is empty");
  Lock lock = enter_with_room(site);
  Slot& slot = slots_.create();
  slot.desc = tensor.desc();
  slot.on_worker = true;
  Waiter waiter;
  const bool waits = options_.async_level == 0;
  Command& command = stream_.buffer.begin(Kind::put_foreign, site);
  command.device = slot.desc.device.index;
  command.waiter = waits ? &waiter : nullptr;
  command.foreign = std::make_unique<DeviceTensor>(std::move(tensor));
  runtime::CommandOutput& output = command.outputs.emplace_back();
  output.slot = slot.index;
  output.tensor = slot.tensor;
  output.desc = slot.desc;
  name(slot, command);
  const Handle handle = slots_.handle_of(slot);
  const Desc desc = slot.desc;
  const std::uint64_t id = command.id, tensor_id = slot.tensor;
  commit(command);
  leave(lock, waits);
  if (watch_) [[unlikely]] {
    watch_.emit({.kind = EventKind::tensor_declare, .device = desc.device.index, .tensor = tensor_id, .bytes = desc.bytes(),
                 .name = "put", .desc = &desc});
  }
  if (waits) wait_for(waiter, Kind::put_foreign, id);
  return handle;
}

void Channel::Core::del(Handle handle) noexcept {
  if (from_before_fork() || !handle) return;
  Lock lock(stream_.mutex);
  if (state_.load() != State::open) return;
  Slot* slot = slots_.find(handle);
  if (!slot) return;
  drop_reference(slots_.remove_handle(*slot));
  leave(lock, false);
}

// ---- Events ----

std::string Channel::Core::scope_path() const {
  std::string path;
  for (const std::string& scope : scopes_) path += scope + ".";
  return path;
}

void Channel::Core::note_issued(Issued& issued, std::span<Handle> outputs) {
  issued.time_ns = now_ns();
  issued.scope = scope_path();
  for (const Slot* slot : in_slots_) issued.inputs.push_back(slot->tensor);
  for (Handle handle : outputs) {
    issued.outputs.push_back(slots_[handle.slot].tensor);
    issued.descs.push_back(slots_[handle.slot].desc);
  }
}

void Channel::Core::tell_issued(const Issued& issued, const Op& op) const {
  const std::string attrs = op.attrs().text();
  Event event{.kind = EventKind::op_dispatch, .reason = issued.on_host ? Reason::host : Reason::command, .time_ns = issued.time_ns,
              .id = issued.id, .name = op.name(), .detail = attrs};
  if (!issued.descs.empty()) event.device = issued.descs[0].device.index;
  event.inputs = issued.inputs;
  event.outputs = issued.outputs;
  watch_.emit(event);
  for (std::size_t k = 0; k < issued.outputs.size(); ++k) {
    const Desc& desc = issued.descs[k];
    watch_.emit({.kind = EventKind::shape_inferred, .flag = desc.known, .device = desc.device.index, .time_ns = issued.time_ns,
                 .id = issued.id, .tensor = issued.outputs[k], .name = op.name(), .desc = &desc});
    watch_.emit({.kind = EventKind::tensor_declare, .device = desc.device.index, .time_ns = issued.time_ns, .id = issued.id,
                 .tensor = issued.outputs[k], .bytes = desc.known ? desc.bytes() : 0,
                 .name = fmt::format("{}{}:{}", issued.scope, op.name(), k), .desc = &desc});
  }
  if (!issued.on_host) return;
  event.kind = EventKind::op_execute_begin;
  watch_.emit(event);
  event.kind = EventKind::op_execute_end;
  watch_.emit(event);
  for (std::size_t k = 0; k < issued.outputs.size(); ++k)
    watch_.emit({.kind = EventKind::tensor_produce, .reason = Reason::host, .device = issued.descs[k].device.index,
                 .tensor = issued.outputs[k], .desc = &issued.descs[k]});
}

}  // namespace regrow
