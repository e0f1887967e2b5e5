// SPDX-License-Identifier: Apache-2.0
// The worker's side of tensors and operations: descriptors that outlive the caller's slot while a recipe needs them, and all that it
// takes to run an operation (again). Worker only; pools, no allocation in the steady state.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "regrow/machine/machine.h"
#include "regrow/ops/op.h"
#include "regrow/runtime/command.h"
#include "regrow/tensor/desc.h"
#include "regrow/tensor/host_array.h"

namespace regrow::runtime {

// What a tensor is, wherever its bytes are. Counted: by its slot, and by the operations that read or write it.
struct Value {
  Desc desc;                     // known, unless the tensor is poisoned
  std::int64_t offset = 0;       // bytes from the start of its storage to its element at index 0
  std::size_t storage_bytes = 0;
  std::uint64_t tensor = 0;      // unique over the channel's life
  std::uint64_t root = 0;        // the tensor that its storage was made for
  std::uint64_t hash = 0;        // of type and shape
  const OpRecord* origin = nullptr;  // null: put
  machine::ErrorId error = 0;
  bool whole = true;                 // it covers its storage, from the first byte to the last
  std::uint32_t references = 0;
  Value* next_free = nullptr;

  bool is_view() const noexcept { return root != tensor; }
  void describe(const Desc& known);  // sets desc and what follows from it, for a storage of its own
  void describe_view(const Desc& known, std::int64_t elements, const Value& base);
  std::uint64_t shape_hash() noexcept;
};

class ValuePool {
 public:
  Value* create();  // referenced once
  void retain(Value* value) noexcept { ++value->references; }
  void release(Value* value) noexcept {
    if (--value->references == 0) value->next_free = free_, free_ = value;
  }

 private:
  std::deque<Value> values_;
  Value* free_ = nullptr;
};

// An operation with all that it needs to run; the machine knows it by its index.
struct Operation {
  std::optional<Op> op;
  RandomState random;
  Site site;
  std::uint64_t id = 0;  // of the command
  absl::InlinedVector<Value*, 8> inputs;  // of a fused one: so many at most
  absl::InlinedVector<Value*, 4> outputs;
  std::vector<HostArray> returned;  // by a callback whose shapes were open: from `measure` to `run`
};

class OperationTable {
 public:
  explicit OperationTable(ValuePool& values) : values_(values) {}
  machine::Payload create();
  Operation& operator[](machine::Payload payload) noexcept { return operations_[payload]; }
  void retire(machine::Payload payload) noexcept;

 private:
  ValuePool& values_;
  std::deque<Operation> operations_;
  std::vector<machine::Payload> free_;
};

}  // namespace regrow::runtime
