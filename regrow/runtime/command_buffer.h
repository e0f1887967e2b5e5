// SPDX-License-Identifier: Apache-2.0
// The stream of commands from the callers to the worker: a window that is still open, so that a delete can join the last operation
// that reads the tensor, then a queue. Both are one list of recycled blocks: releasing moves no command. Unbounded, so that a delete
// never waits; back-pressure is the channel's business.
//
// Callers come one at a time, under the channel's mutex; the worker reads without it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "regrow/runtime/command.h"

namespace regrow::runtime {

class CommandBuffer {
 private:
  static constexpr std::size_t block_size = 64;
  struct Block {
    std::array<Command, block_size> commands;
    Block* next = nullptr;       // written before a command in it is released
    Block* next_free = nullptr;
  };

 public:
  CommandBuffer();
  ~CommandBuffer();
  CommandBuffer(const CommandBuffer&) = delete;
  CommandBuffer& operator=(const CommandBuffer&) = delete;

  // Caller's side. The next command, to be filled in; it enters the window with commit().
  Command& begin(Command::Kind kind, Site site);
  void commit() noexcept;
  // The command just named still can be changed: it was committed and not released.
  bool open(std::uint64_t id) const noexcept { return id > released_by_caller_; }
  std::size_t window() const noexcept { return static_cast<std::size_t>(committed_by_caller_ - released_by_caller_); }
  // Hands all but the newest `keep` commands to the worker.
  void release(std::size_t keep = 0) noexcept;

  // Any thread. Ids of the newest command that was committed, released, executed.
  std::uint64_t committed() const noexcept { return committed_.load(std::memory_order_seq_cst); }
  std::uint64_t released() const noexcept { return released_.load(std::memory_order_seq_cst); }
  std::uint64_t executed() const noexcept { return executed_.load(std::memory_order_seq_cst); }

  // Worker's side. A place in the stream; the one that `head` returns is valid after released() > executed().
  class Cursor {
   public:
    Command& operator*() const noexcept { return block_->commands[index_]; }
    Command* operator->() const noexcept { return &**this; }
    void advance() noexcept {
      if (++index_ == block_size) block_ = block_->next, index_ = 0;
    }

   private:
    friend class CommandBuffer;
    Block* block_ = nullptr;
    std::size_t index_ = 0;
  };
  // Requires that a released command is waiting.
  Cursor head() noexcept;
  // The first `count` have been executed: their commands may be used again.
  void pop(std::size_t count) noexcept;

 private:
  Block* new_block();

  // Callers.
  std::unique_ptr<Command*[]> open_commands_;  // by id: those of the window
  std::size_t open_mask_;
  Block* tail_;
  std::size_t tail_index_ = 0;
  Block* spare_ = nullptr;
  std::uint64_t committed_by_caller_ = 0, released_by_caller_ = 0;

  // Worker.
  alignas(64) Cursor head_;
  std::uint64_t executed_by_worker_ = 0;

  // Lines of their own: an idle worker polls `released_`, which changes once a batch, and seldom looks at `committed_`.
  alignas(64) std::atomic<std::uint64_t> committed_{0};
  alignas(64) std::atomic<std::uint64_t> released_{0};
  alignas(64) std::atomic<std::uint64_t> executed_{0};
  std::atomic<Block*> returned_{nullptr};  // blocks that the worker has done with
};

}  // namespace regrow::runtime
