// SPDX-License-Identifier: Apache-2.0
// Which storages of a trace are alive at each of its operations, whatever is evicted. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "regrow/machine/placement.h"
#include "regrow/remat/trace.h"

namespace regrow::remat {

struct Life {
  std::uint64_t bytes = 0;
  std::uint32_t maker = 0;       // command
  std::uint32_t last_use = 0;    // command
  std::uint32_t names = 0;       // tensors that are alive
  bool source = false, pinned = false;
};

class Lives {
 public:
  using Kind = TraceCommand::Kind;
  // `rounded`: sizes as blocks occupy them.
  explicit Lives(const Trace& trace, bool rounded = false) : trace_(trace), rounded_(rounded), storage_(trace.tensors()) {
    const auto commands = trace.commands();
    for (std::uint32_t at = 0; at < commands.size(); ++at) describe(at, commands[at]);
  }

  // Calls f(command number, distinct storages that it reads and makes) with what is alive then: before its deletes.
  template <class F>
  void each_operation(F f) {
    std::vector<std::uint32_t> touched;
    const auto commands = trace_.commands();
    for (std::uint32_t at = 0; at < commands.size(); ++at) {
      const TraceCommand& c = commands[at];
      touched.clear();
      if (c.kind == Kind::put) name(c.first);
      if (c.kind == Kind::pin) lives_[storage_[c.first]].pinned = true;
      if (c.kind == Kind::want || c.kind == Kind::pin) touched.push_back(storage_[c.first]);
      if (c.kind == Kind::release) unname(c.first);
      if (c.kind == Kind::apply) {
        for (TensorId id : trace_.inputs(c)) touched.push_back(storage_[id]);
        for (TensorId k = 0; k < c.output_count; ++k) name(c.first + k), touched.push_back(storage_[c.first + k]);
      }
      std::sort(touched.begin(), touched.end());
      touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
      if (!touched.empty()) f(at, touched);
      for (TensorId id : trace_.deletes(c)) unname(id);
    }
  }

  const Life& operator[](std::uint32_t storage) const { return lives_[storage]; }
  const std::vector<std::uint32_t>& alive() const { return alive_; }
  std::uint64_t alive_bytes() const { return alive_bytes_; }
  std::uint64_t fixed_bytes() const { return fixed_bytes_; }  // of sources and pinned ones that are alive

 private:
  std::uint64_t size(std::uint64_t bytes) const { return rounded_ ? machine::Placement::rounded(bytes) : bytes; }

  void describe(std::uint32_t at, const TraceCommand& c) {
    if (c.kind == Kind::put) {
      storage_[c.first] = static_cast<std::uint32_t>(lives_.size());
      lives_.push_back({.bytes = size(c.bytes), .source = true});
    }
    if (c.kind == Kind::want || c.kind == Kind::pin) lives_[storage_[c.first]].last_use = at;
    if (c.kind != Kind::apply) return;
    const auto inputs = trace_.inputs(c);
    for (TensorId id : inputs) lives_[storage_[id]].last_use = at;
    TensorId tensor = c.first;
    for (const TraceOutput& output : trace_.outputs(c)) {
      if (output.view_of >= 0) {
        storage_[tensor++] = storage_[inputs[static_cast<std::size_t>(output.view_of)]];
        continue;
      }
      storage_[tensor++] = static_cast<std::uint32_t>(lives_.size());
      lives_.push_back({.bytes = size(output.bytes), .maker = at, .source = !c.replayable || c.state});
    }
  }

  void name(TensorId tensor) {
    const std::uint32_t id = storage_[tensor];
    if (lives_[id].names++ > 0) return;
    where_.resize(lives_.size());
    where_[id] = alive_.size();
    alive_.push_back(id);
    alive_bytes_ += lives_[id].bytes;
    if (lives_[id].source) fixed_bytes_ += lives_[id].bytes;
  }
  void unname(TensorId tensor) {
    const std::uint32_t id = storage_[tensor];
    if (--lives_[id].names > 0 || lives_[id].pinned) return;
    where_[alive_.back()] = where_[id];
    alive_[where_[id]] = alive_.back();
    alive_.pop_back();
    alive_bytes_ -= lives_[id].bytes;
    if (lives_[id].source) fixed_bytes_ -= lives_[id].bytes;
  }

  const Trace& trace_;
  bool rounded_;
  std::vector<std::uint32_t> storage_;  // by tensor
  std::vector<Life> lives_;
  std::vector<std::uint32_t> alive_;
  std::vector<std::size_t> where_;  // in alive_
  std::uint64_t alive_bytes_ = 0, fixed_bytes_ = 0;
};

}  // namespace regrow::remat
