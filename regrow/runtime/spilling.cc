// SPDX-License-Identifier: Apache-2.0
// Bytes outside the arenas: where they wait, how they go and come back, and what is done when they do not.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "regrow/base/clock.h"
#include "regrow/base/log.h"
#include "regrow/runtime/executor.h"

namespace regrow::runtime {
namespace {

using Request = SpillThread::Request;
using Result = SpillThread::Result;

constexpr std::uint32_t most_ahead = 4;     // transfers that nobody waits for
constexpr std::size_t commands_ahead = 16;  // whose operands are read before they are needed

// One that cannot be read is missed when its value is asked for.
void move_copies(memory::Store& from, memory::Store& to) {
  std::vector<std::byte> bytes;
  for (memory::Store::Id id = 0; id < from.end(); ++id) {
    if (!from.has(id)) continue;
    bytes.resize(from.size_of(id));
    try {
      from.read(id, bytes);
    } catch (const std::exception&) {
      log().warn("spill: {}", text_of(std::current_exception()));
      continue;
    }
    to.write(id, bytes);
  }
}

}  // namespace

Request Executor::request_for(const Action& action, Request::Kind kind) {
  const machine::StorageId id = action.operand.storage;
  return {.kind = kind, .id = id, .data = base_of(action.operand), .bytes = storage(id).bytes};
}

Result Executor::move_on_host(const Request& request) {
  Result result{.kind = request.kind, .id = request.id};
  try {
    if (request.kind == Request::Kind::write) host_.write(request.id, {request.data, request.bytes});
    else host_.read(request.id, {request.data, request.bytes});
  } catch (...) {
    result.error = std::current_exception();
  }
  return result;
}

// The worker waits; what ends meanwhile is told to the machine between commands.
Result Executor::wait_for(machine::StorageId id) {
  const std::uint64_t begin = now_ns();
  const auto its = [id](const Result& result) { return result.id == id; };
  auto found = std::find_if(ended_.begin(), ended_.end(), its);
  while (found == ended_.end()) {
    ended_.push_back(spill_->wait());
    found = its(ended_.back()) ? std::prev(ended_.end()) : ended_.end();
  }
  Result result = std::move(*found);
  ended_.erase(found);
  stall_seconds_ += 1e-9 * static_cast<double>(now_ns() - begin);
  return result;
}

machine::Completion Executor::swap_out(const Action& action) {
  last_end_ns_ = 0;
  const Request request = request_for(action, Request::Kind::write);
  if (!spill_) return written(move_on_host(request));
  spill_->post(request);
  return written(wait_for(request.id));
}

machine::Completion Executor::swap_in(const Action& action) {
  last_end_ns_ = 0;
  const Request request = request_for(action, Request::Kind::read);
  if (spill_) spill_->post(request);
  const Result result = spill_ ? wait_for(request.id) : move_on_host(request);
  if (!action.keep) forget_copy(request.id);
  return read_back(result, action.regrow);
}

void Executor::forget_copy(machine::StorageId id) {
  if (spill_) spill_->post({.kind = Request::Kind::forget, .id = id});
  else host_.forget(id);
}

machine::Completion Executor::begin_ahead(const Action& action) {
  if (spill_->under_way() >= most_ahead) return {.error = 1};
  spill_->post(request_for(action, action.kind == Action::Kind::write_ahead ? Request::Kind::write : Request::Kind::read));
  return {};
}

machine::Completion Executor::await(const Action& action) {
  last_end_ns_ = 0;
  const Result result = wait_for(action.operand.storage);
  return result.kind == Request::Kind::write ? written(result) : read_back(result, action.regrow);
}

void Executor::cancel(const Action& action) {
  last_end_ns_ = 0;
  const Result result = wait_for(action.operand.storage);
  if (result.kind == Request::Kind::write && !result.error) forget_copy(result.id);
}

// If it failed, the tensor stays where it is: nothing is lost, and nobody needs to be told more than this.
machine::Completion Executor::written(const Result& result) {
  if (result.error) {
    log().warn("swap_out: {}", text_of(result.error));
    return {.error = 1};
  }
  const Storage& kept = storage(result.id);
  watch_.emit({.kind = EventKind::swap_out, .device = kept.device, .tensor = kept.tensor, .bytes = kept.bytes});
  return {.seconds = result.seconds};
}

// If it failed, the value is computed again if it can be; else it is lost, and whoever waits for it, or for what needs it, is told.
machine::Completion Executor::read_back(const Result& result, bool has_recipe) {
  if (result.error) {
    forget_copy(result.id);
    Failure failure{.message = fmt::format("swap_in: {}", text_of(result.error)), .cause = result.error};
    if (has_recipe) {
      log().warn("{}; it is computed again", failure.message);
      return {.error = 1};
    }
    const ErrorId id = fail(std::move(failure));
    regrowing_failed_ = true;
    errors_.retain(id);
    return {.error = id};
  }
  Storage& kept = storage(result.id);
  kept.resident = true;
  watch_.emit({.kind = EventKind::swap_in, .device = kept.device, .tensor = kept.tensor, .bytes = kept.bytes});
  watch_.emit({.kind = EventKind::tensor_produce, .device = kept.device, .tensor = kept.tensor, .bytes = kept.bytes});
  return {.seconds = result.seconds};
}

void Executor::tell_transfers() {
  for (Result result; spill_->poll(result);) ended_.push_back(std::move(result));
  while (!ended_.empty()) {
    const Result result = std::move(ended_.front());
    ended_.pop_front();
    const bool out = result.kind == Request::Kind::write;
    machine_.transferred(result.id, out ? written(result) : read_back(result, machine_.has_recipe(result.id)));
    drive(no_command_);
  }
}

// The rest of the batch says what will be read.
void Executor::look_ahead(CommandBuffer::Cursor at, std::size_t commands) {
  soon_.clear();
  for (std::size_t i = 0; i < commands + commands_ahead; ++i, at.advance()) {
    if (i >= commands && at->kind == Command::Kind::apply) soon_.insert(soon_.end(), at->inputs.begin(), at->inputs.end());
    if (at->ends_batch) break;
  }
  machine_.look_ahead(soon_);
  drive(no_command_);
}

// All copies move to the new store, or the old one stays.
void Executor::set_spill(Command& command) {
  std::unique_ptr<memory::SpillStore> store = std::move(command.spill), old;
  const std::size_t before = machine_.usage(0).staging_bytes;
  machine_.set_spill(store != nullptr, store ? memory::SpillStore::staging_bytes : 0);
  drive(command);
  ErrorId error = machine_.refused();
  if (error != 0) return answer(command, error);
  if (spill_) old = std::exchange(spill_, nullptr)->stop();
  const std::uint64_t written = old ? old->written() : 0;
  try {
    memory::HostStore host;
    move_copies(old ? static_cast<memory::Store&>(*old) : host_, store ? static_cast<memory::Store&>(*store) : host);
    const std::uint64_t moved = store ? store->written() : 0;  // not for want of room
    if (store) spill_ = std::make_unique<SpillThread>(std::move(store));
    spilled_before_ += written - moved;
    host_ = std::move(host);
    if (tuning_.mark != 0) tuning_.mark = 0, set_eviction();
  } catch (const std::exception&) {
    error = fail({.message = fmt::format("set_spill_directory: {}", text_of(std::current_exception())), .site = command.site,
                  .cause = std::current_exception()}, false);
    if (old) spill_ = std::make_unique<SpillThread>(std::move(old));
    machine_.set_spill(spill_ != nullptr, before);
    drive(command);
  }
  limit_arena(0);
  answer(command, error);
}

void Executor::limit_arena(std::uint8_t device) {
  const machine::Usage usage = machine_.usage(device);
  memory_->set_limit(device, usage.budget_bytes > 0 ? usage.budget_bytes - usage.staging_bytes : 0);
}

}  // namespace regrow::runtime
