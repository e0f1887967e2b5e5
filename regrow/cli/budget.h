// SPDX-License-Identifier: Apache-2.0
// `--budget`: what was asked for, and what training in it was like. Main thread.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "regrow/regrow.h"

namespace regrow::cli {

// "512MiB", "30%" (of the model's own peak without a budget), or none.
class BudgetWish {
 public:
  BudgetWish() = default;
  explicit BudgetWish(const std::string& text);  // UsageError on anything else

  explicit operator bool() const noexcept { return bytes_ > 0 || percent_ > 0; }
  bool is_relative() const noexcept { return percent_ > 0; }
  std::size_t bytes(std::size_t unlimited_peak) const noexcept;

 private:
  std::size_t bytes_ = 0;
  double percent_ = 0;
};

struct BudgetResult {
  std::size_t budget_bytes = 0;          // 0: there was none
  std::size_t unlimited_peak_bytes = 0;  // 0: not measured
  std::size_t floor_bytes = 0;           // of a step, as recorded; 0: no step was
  MemoryReport memory;                   // when training had ended
  double seconds = 0;                    // of training
  ReplayReport replay;

  // 0.1: one tenth of the time went into operators that had run before.
  double recompute_share() const { return seconds > 0 ? memory.recompute_seconds / seconds : 0; }
  void add_to(nlohmann::ordered_json& json) const;
  std::string text() const;  // lines
};

}  // namespace regrow::cli
