// SPDX-License-Identifier: Apache-2.0
// Errors of operations that ran: each is kept while a poisoned tensor refers to it or until somebody has been told. Worker only.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <deque>
#include <exception>
#include <string>

#include "regrow/base/site.h"
#include "regrow/machine/machine.h"

namespace regrow::runtime {

// What a failed operation leaves: an AsyncError that nests `cause`, or an OutOfBudget.
struct Failure {
  std::string message = {};  // operator, what went wrong, shapes and types
  Site site = {};            // where it was issued
  std::exception_ptr cause = nullptr;
  bool out_of_budget = false;
  std::size_t required = 0, smallest = 0;

  // To be thrown to a caller; `suffix` is appended to the message.
  std::exception_ptr thrown(std::string_view suffix = {}) const;
};

// What an exception says, without the line.
std::string text_of(const std::exception_ptr& exception);

class ErrorLedger {
 public:
  machine::ErrorId add(Failure failure);
  const Failure& operator[](machine::ErrorId id) const { return records_.at(id).failure; }

  // A live tensor is poisoned by it, or not any more.
  void retain(machine::ErrorId id);
  void release(machine::ErrorId id);

  // What to throw to the caller who is told now.
  std::exception_ptr tell(machine::ErrorId id);
  // The earliest error that nobody has been told, mentioning how many more there were; all count as told. Null if there is none.
  std::exception_ptr tell_earliest();
  std::size_t untold() const noexcept { return untold_; }

 private:
  static constexpr std::size_t most_listed = 10'000;
  struct Record {
    Failure failure;
    std::uint32_t references = 0;
    bool told = false;
    bool listed = true;  // in untold_order_
  };

  absl::flat_hash_map<machine::ErrorId, Record> records_;
  std::deque<machine::ErrorId> untold_order_;  // may name errors that were told since
  std::size_t untold_ = 0;
  machine::ErrorId last_ = 0;
};

}  // namespace regrow::runtime
