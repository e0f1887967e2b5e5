// SPDX-License-Identifier: Apache-2.0
// A program as the machine sees it: its commands in issued order, with the time that each operation took. Whatever recomputation took
// place while it was recorded is not in it. One thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace regrow::remat {

// Tensors are numbered in the order in which they appear: put, or outputs of apply.
using TensorId = std::uint32_t;

struct TraceOutput {
  std::uint64_t bytes = 0;    // of its own storage; 0 for a view
  std::int32_t view_of = -1;  // index of the input whose storage it shares
  std::uint32_t reuse = 0;    // bit i: it may take over the storage of input i
};

struct TraceCommand {
  enum class Kind : std::uint8_t {
    put,      // tensor `first` appears, of `bytes`, without a recipe
    apply,    // an operation
    release,  // tensor `first` is not needed any more
    want,     // the value of tensor `first` is asked for
    pin,      // as want; and it stays in memory from now on
  };
  Kind kind = Kind::apply;
  std::uint8_t device = 0;
  bool replayable = true, fallible = false, state = false;  // as in machine::ApplySpec
  std::uint32_t name = 0;   // of the operator
  TensorId first = 0;       // apply: its first output
  std::uint64_t key = 0;    // of operator, attributes and shapes
  std::uint64_t bytes = 0;  // put: of the tensor; apply: of the workspace
  double seconds = 0;
  std::uint32_t inputs = 0, deletes = 0, outputs = 0;  // where they begin
  std::uint32_t input_count = 0, delete_count = 0, output_count = 0;
};

class Trace {
 public:
  struct Operation {
    std::string_view name;
    std::uint64_t key = 0;
    double seconds = 0;
    std::uint64_t workspace = 0;
    std::uint8_t device = 0;
    bool replayable = true, fallible = false, state = false;
    std::span<const TensorId> inputs = {};
    std::span<const TraceOutput> outputs = {};
    std::span<const TensorId> deletes = {};  // that die with it; outputs of it too
  };

  TensorId put(std::uint64_t bytes, std::uint8_t device = 0);
  // Returns the number of its first output.
  TensorId apply(const Operation& operation);
  void release(TensorId tensor) { add(TraceCommand::Kind::release, tensor); }
  void want(TensorId tensor) { add(TraceCommand::Kind::want, tensor); }
  void pin(TensorId tensor) { add(TraceCommand::Kind::pin, tensor); }
  void set_seconds(std::size_t command, double seconds) { commands_[command].seconds = seconds; }
  void clear();

  std::span<const TraceCommand> commands() const noexcept { return commands_; }
  std::span<const TensorId> inputs(const TraceCommand& c) const noexcept { return {ids_.data() + c.inputs, c.input_count}; }
  std::span<const TensorId> deletes(const TraceCommand& c) const noexcept { return {ids_.data() + c.deletes, c.delete_count}; }
  std::span<const TraceOutput> outputs(const TraceCommand& c) const noexcept { return {outputs_.data() + c.outputs, c.output_count}; }
  std::string_view name(const TraceCommand& c) const noexcept { return names_[c.name]; }
  TensorId tensors() const noexcept { return tensors_; }
  std::uint8_t devices() const noexcept { return devices_; }
  std::size_t operations() const noexcept { return operations_; }
  double seconds() const noexcept;  // of all operations, each once

 private:
  void add(TraceCommand::Kind kind, TensorId tensor);
  std::uint32_t name_id(std::string_view name);

  std::vector<TraceCommand> commands_;
  std::vector<TensorId> ids_;
  std::vector<TraceOutput> outputs_;
  std::vector<std::string> names_;
  TensorId tensors_ = 0;
  std::uint8_t devices_ = 1;
  std::size_t operations_ = 0;
};

}  // namespace regrow::remat
