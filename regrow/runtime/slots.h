// SPDX-License-Identifier: Apache-2.0
// The callers' side of tensors: what a handle names, checked in O(1) by generation, and what is known of it without asking the worker.
// Used under the channel's mutex only.
//
// A slot is the name that the worker knows a tensor by. A freed slot is used again late, in order of freeing, so that within a window
// of commands a slot means one tensor. Handles of equal constants have slots of their own that lead to one `target`.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "regrow/base/error.h"
#include "regrow/runtime/command.h"
#include "regrow/runtime/handle.h"
#include "regrow/tensor/host_array.h"

namespace regrow::runtime {

struct Slot {
  std::uint32_t generation = 1;
  SlotIndex index = 0;           // its own
  SlotIndex target = 0;          // the slot that holds the tensor: itself, or that of a shared constant
  std::uint32_t references = 0;  // of a target: handles, and the constant cache
  bool in_use = false;
  bool on_worker = false;        // the worker knows it; else only its host value exists
  bool has_host = false;
  std::uint64_t tensor = 0;      // unique over the channel's life
  std::uint64_t last_use = 0;    // id of the last command that names it
  Command* last_command = nullptr;
  Desc desc;
  HostArray host;
};

class SlotTable {
 public:
  // A slot of its own, referenced once. `desc`, host value and on_worker are the caller's to set.
  Slot& create();
  // A second handle to the tensor of `target`.
  Slot& create_alias(Slot& target);
  // The handle is gone. Returns the target if that was its last reference: it must be retired, then freed; null otherwise.
  Slot* remove_handle(Slot& handle) noexcept;
  void free(Slot& slot) noexcept;

  Slot& operator[](SlotIndex index) noexcept { return chunks_[index >> chunk_bits][index & chunk_mask]; }
  // Whatever the handle names, or null if it is stale.
  Slot* find(Handle handle) noexcept {
    if (handle.slot >= size_) return nullptr;
    Slot& slot = (*this)[handle.slot];
    return slot.generation == handle.generation && slot.in_use ? &slot : nullptr;
  }
  // The tensor that the handle names. Throws Error on a stale handle.
  Slot& tensor(Handle handle, Site site) {
    Slot* slot = find(handle);
    if (!slot) [[unlikely]] stale(handle, site);
    return (*this)[slot->target];
  }
  static Handle handle_of(const Slot& slot) noexcept { return {slot.index, slot.generation}; }
  std::size_t size() const noexcept { return size_; }
  std::size_t in_use() const noexcept { return in_use_; }

 private:
  static constexpr std::size_t chunk_bits = 8, chunk_mask = (1u << chunk_bits) - 1;
  static constexpr std::size_t least_idle = 256;  // free slots that rest before one is used again

  [[noreturn]] static void stale(Handle handle, Site site);
  Slot& take();

  std::vector<std::unique_ptr<Slot[]>> chunks_;
  std::size_t size_ = 0, in_use_ = 0;
  std::uint64_t tensors_ = 0;
  // Free slots, first in, first out: a ring.
  std::vector<SlotIndex> idle_;
  std::size_t idle_head_ = 0, idle_count_ = 0;
};

}  // namespace regrow::runtime
