// SPDX-License-Identifier: Apache-2.0
// What can be observed of a channel: plain structs, and the interface of whoever wants to know.
//
// Events of the caller's side (issued, scopes, marks, waits) are delivered on the calling thread, all others on the worker; an
// observer that both can reach must be able to bear that. Nothing is emitted, and nothing is paid, while no profile runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace regrow {

struct Desc;

enum class EventKind : std::uint8_t {
  // Commands: entered the queue; the worker began; the worker finished.
  command_queued, command_begin, command_end,
  // Operators: issued by a caller (inputs, outputs); executed (begin and end; reason says why).
  op_dispatch, op_execute_begin, op_execute_end,
  // Tensors: named and described; has a value; was read; its memory was given back; its node is gone.
  tensor_declare, tensor_produce, tensor_use, tensor_release, tensor_erase,
  // Waits of a caller, and the notification that ends one.
  wait_begin, wait_end, notify,
  // A shape was inferred when issued (`flag`: it was known), or found out by the worker.
  shape_inferred,
  // Memory by hand or by policy.
  drop, swap_out, swap_in, regrow_begin, regrow_end, cascade,
  worker_error,
  memory_sample,
  scope_begin, scope_end, mark,
  profile_begin, profile_end,
};
std::string_view name_of(EventKind kind) noexcept;

// Why an operator runs.
enum class Reason : std::uint8_t { command, regrow, host };

struct Event {
  EventKind kind;
  Reason reason = Reason::command;
  bool flag = false;
  std::uint8_t device = 0;
  std::uint64_t time_ns = 0;       // monotonic
  std::uint64_t id = 0;            // of the command or operation: begin and end share it
  std::uint64_t tensor = 0;        // of the tensor, unique over the channel's life
  std::size_t bytes = 0;           // tensor: its storage; memory_sample: live bytes
  std::size_t committed = 0;       // memory_sample: committed bytes
  std::string_view name = {};      // operator, command, scope, mark or error text; valid during the call only
  std::string_view detail = {};    // attributes, or where an error was issued
  std::span<const std::uint64_t> inputs = {};   // tensor ids
  std::span<const std::uint64_t> outputs = {};
  std::span<const std::uint64_t> deletes = {};
  const Desc* desc = nullptr;      // tensor_declare, tensor_produce
};

class Observer {
 public:
  virtual ~Observer() = default;
  // Must not call the channel (a call from inside throws) and must not throw.
  virtual void on_event(const Event& event) = 0;
};

}  // namespace regrow
