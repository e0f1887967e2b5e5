// SPDX-License-Identifier: Apache-2.0
// Elementwise neighbours as one operation: looks ahead over a batch of released commands, and keeps the programs that it has built.
// Worker only.
//
// What fuses: operations with a tile kernel, pure, that cannot fail by value, of one output shape and layout, up to the end of the
// batch or the first command of another kind. Deletes between them are carried out first. The batch ends where a release ended, so that
// under a budget what fuses depends on the stream only; a fused operation then needs no more memory at once than its neediest member.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "regrow/runtime/command_buffer.h"
#include "regrow/runtime/values.h"

namespace regrow::runtime {

class Fusion {
 public:
  static constexpr std::size_t most_members = 16, most_inputs = 8;

  struct Group {
    Command command;                      // the fused operation, as if it had been issued
    std::size_t commands = 0;             // of the batch, that it stands for
    std::size_t members = 0;
    std::vector<SlotIndex> early_deletes; // tensors that others deleted meanwhile
    std::vector<std::uint64_t> vanished;  // tensors that never had memory
    std::string_view neediest;            // operator named when it does not fit
  };

  // The group that begins at `head`, valid until the next call; null if nothing fuses. `slots`: what the worker knows of each slot.
  Group* find(CommandBuffer::Cursor head, std::span<Value* const> slots, bool budgeted);

 private:
  // Registers while a program is put together: external inputs from 0, members' results from `results`.
  static constexpr std::uint16_t results = 0x100;
  struct Member {
    Command* command = nullptr;
    kernels::TileKernel kernel;
    std::size_t commands = 0;  // of the batch, up to and with it
    std::size_t inputs_so_far = 0;
    std::size_t early_so_far = 0;
    std::size_t bytes = 0;     // of distinct inputs and the output
    bool live = true;          // its result is wanted after the group
    std::uint8_t arity = 0;
    std::uint16_t args[kernels::max_tile_inputs] = {};
  };
  struct Program {
    std::vector<std::uint64_t> key;
    std::vector<Attrs> attrs;
    Op op;
  };

  bool join(Command& command, std::span<Value* const> slots);
  int register_of(SlotIndex slot) const noexcept;
  bool names(SlotIndex slot) const noexcept;
  void mark_live(std::size_t count);
  bool worth(std::size_t count) const noexcept;
  bool modest(std::size_t count, std::span<Value* const> slots) const noexcept;
  void build(std::size_t count, std::span<Value* const> slots);
  const Op& program_for(std::size_t count, std::span<Value* const> slots);
  Op make_program(std::size_t count) const;

  std::vector<Member> members_;
  std::size_t count_ = 0;
  std::vector<SlotIndex> inputs_, early_;
  Group group_;
  std::vector<std::uint64_t> key_;
  absl::flat_hash_map<std::uint64_t, Program> programs_;
};

}  // namespace regrow::runtime
