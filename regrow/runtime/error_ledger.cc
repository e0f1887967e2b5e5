// SPDX-License-Identifier: Apache-2.0
#include "regrow/runtime/error_ledger.h"

#include <fmt/format.h>

#include <vector>

#include "regrow/base/error.h"

namespace regrow::runtime {

std::exception_ptr Failure::thrown(std::string_view suffix) const {
  const std::string text = message + std::string(suffix);
  if (out_of_budget) return std::make_exception_ptr(OutOfBudget(text, required, smallest, site));
  if (!cause) return std::make_exception_ptr(AsyncError(text, site));
  try {
    std::rethrow_exception(cause);
  } catch (...) {
    return std::make_exception_ptr(AsyncError(text, site));  // nests what is being handled
  }
}

std::string text_of(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    return error.message();
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an unknown exception";
  }
}

machine::ErrorId ErrorLedger::add(Failure failure) {
  if (++last_ == 0) ++last_;
  const bool listed = untold_order_.size() < most_listed;
  records_.emplace(last_, Record{.failure = std::move(failure), .listed = listed});
  if (listed) untold_order_.push_back(last_);
  ++untold_;
  return last_;
}

void ErrorLedger::retain(machine::ErrorId id) { ++records_.at(id).references; }

void ErrorLedger::release(machine::ErrorId id) {
  const auto found = records_.find(id);
  if (--found->second.references == 0 && (found->second.told || !found->second.listed)) records_.erase(found);
}

std::exception_ptr ErrorLedger::tell(machine::ErrorId id) {
  const auto found = records_.find(id);
  std::exception_ptr thrown = found->second.failure.thrown();
  if (!found->second.told) found->second.told = true, --untold_;
  if (found->second.references == 0) records_.erase(found);
  while (!untold_order_.empty()) {
    const auto first = records_.find(untold_order_.front());
    if (first != records_.end() && !first->second.told) break;
    untold_order_.pop_front();
  }
  return thrown;
}

std::exception_ptr ErrorLedger::tell_earliest() {
  if (untold_ == 0) return nullptr;
  const Failure* earliest = nullptr;
  for (machine::ErrorId id : untold_order_) {
    const auto found = records_.find(id);
    if (found == records_.end() || found->second.told) continue;
    earliest = &found->second.failure;
    break;
  }
  const std::size_t more = untold_ - 1;
  const std::string suffix =
      more == 0 ? std::string() : fmt::format(" (and {} more error{} that nobody was told)", more, more == 1 ? "" : "s");
  const Failure unlisted{.message = "an operation failed"};
  std::exception_ptr thrown = (earliest ? *earliest : unlisted).thrown(suffix);
  for (auto i = records_.begin(); i != records_.end();) {
    i->second.told = true;
    if (i->second.references == 0) records_.erase(i++);
    else ++i;
  }
  untold_order_.clear();
  untold_ = 0;
  return thrown;
}

}  // namespace regrow::runtime
