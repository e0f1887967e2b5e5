// SPDX-License-Identifier: Apache-2.0
#include "regrow/runtime/command_buffer.h"

namespace regrow::runtime {

std::string_view name_of(Command::Kind kind) noexcept {
  constexpr std::string_view names[] = {"apply",      "put",        "put_foreign", "del",       "settle",        "read",
                                        "hand_out",   "take_back",  "drop",        "swap_out",  "swap_in",       "set_option",
                                        "set_budget", "set_spill",  "reset_peak",  "report",    "observe",       "start_profile",
                                        "stop_profile", "end_step", "record_step", "tune",      "sync",          "stop"};
  return names[static_cast<std::size_t>(kind)];
}

CommandBuffer::CommandBuffer() : open_commands_(new Command*[2048]), open_mask_(2047), tail_(new Block) { head_.block_ = tail_; }

CommandBuffer::~CommandBuffer() {
  auto drop = [](Block* block, Block* Block::*next) {
    while (block) {
      Block* after = block->*next;
      delete block;
      block = after;
    }
  };
  drop(head_.block_, &Block::next);
  drop(spare_, &Block::next_free);
  drop(returned_.load(), &Block::next_free);
}

CommandBuffer::Block* CommandBuffer::new_block() {
  if (!spare_) spare_ = returned_.exchange(nullptr, std::memory_order_acquire);
  if (!spare_) return new Block;
  Block* block = spare_;
  spare_ = block->next_free;
  block->next = nullptr;
  return block;
}

Command& CommandBuffer::begin(Command::Kind kind, Site site) {
  if (tail_index_ == block_size) {
    Block* block = new_block();
    tail_->next = block;
    tail_ = block;
    tail_index_ = 0;
  }
  Command& command = tail_->commands[tail_index_];
  command.kind = kind;
  command.id = committed_by_caller_ + 1;
  command.site = site;
  return command;
}

void CommandBuffer::commit() noexcept {
  if (window() > open_mask_) release();  // a window that nobody watches
  open_commands_[++committed_by_caller_ & open_mask_] = &tail_->commands[tail_index_++];
  committed_.store(committed_by_caller_, std::memory_order_seq_cst);
}

void CommandBuffer::release(std::size_t keep) noexcept {
  if (window() <= keep) return;
  released_by_caller_ = committed_by_caller_ - keep;
  open_commands_[released_by_caller_ & open_mask_]->ends_batch = true;
  released_.store(released_by_caller_, std::memory_order_seq_cst);
}

CommandBuffer::Cursor CommandBuffer::head() noexcept {
  // A block is left only when the one after it has a command: until then its `next` may still be unset.
  if (head_.index_ == block_size) {
    Block* done = head_.block_;
    head_.block_ = done->next;
    head_.index_ = 0;
    done->next_free = returned_.load(std::memory_order_relaxed);
    while (!returned_.compare_exchange_weak(done->next_free, done, std::memory_order_release, std::memory_order_relaxed)) {
    }
  }
  return head_;
}

void CommandBuffer::pop(std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    head()->reset();  // of several that fused, the next one may stand in the next block
    ++head_.index_;
  }
  executed_by_worker_ += count;
  executed_.store(executed_by_worker_, std::memory_order_seq_cst);
}

}  // namespace regrow::runtime
