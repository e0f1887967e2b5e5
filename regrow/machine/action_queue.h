// SPDX-License-Identifier: Apache-2.0
// The actions that have been decided and not yet handed out. Its entries are used again: an action has the fields that its kind
// documents, others hold what was there before. One thread.
#pragma once

#include <cstddef>
#include <vector>

#include "regrow/machine/machine.h"

namespace regrow::machine {

class ActionQueue {
 public:
  Action& push(Action::Kind kind, std::uint8_t device = 0) {
    if (tail_ == actions_.size()) [[unlikely]] actions_.emplace_back();
    Action& action = actions_[tail_++];
    action.kind = kind;
    action.why = Action::Why::deleted;
    action.regrow = false;
    action.keep = false;
    action.device = device;
    action.payload = 0;
    action.inputs = {};
    action.outputs = {};
    return action;
  }
  // Null: all are handed out. Valid until the next push.
  const Action* take() noexcept { return head_ < tail_ ? &actions_[head_++] : nullptr; }
  const Action& taken_last() const noexcept { return actions_[head_ - 1]; }
  bool empty() const noexcept { return head_ == tail_; }
  void clear() noexcept { head_ = tail_ = 0; }

 private:
  std::vector<Action> actions_;
  std::size_t head_ = 0, tail_ = 0;
};

}  // namespace regrow::machine
