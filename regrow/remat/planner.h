// SPDX-License-Identifier: Apache-2.0
// What a trace would cost in budgets: each policy replayed in each of them. One thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "regrow/remat/disk.h"
#include "regrow/remat/outcome.h"
#include "regrow/remat/trace.h"

namespace regrow::remat {

enum class Rules { regrow, published };

struct PlanQuestion {
  std::vector<std::size_t> budgets;  // bytes
  std::vector<double> ratios;        // of the peak without a budget
  std::vector<std::string> policies;
  Rules rules = Rules::regrow;
  Disk disk;                         // evictions may write there, by our own rules
  bool tune = true;                  // next-use may choose its settings by replay
  bool smallest = true;              // look for each policy's smallest budget
};

struct PlanResult {
  std::string policy;
  std::size_t budget_bytes = 0;
  double ratio = 0;
  Outcome outcome;
  double search_seconds = 0;  // for replays that chose the settings
  double lower_bound = 0;
};

struct PlanAnswer {
  std::size_t peak_bytes = 0;   // without a budget
  std::size_t floor_bytes = 0;  // below it no operation order works
  double own_seconds = 0;       // of the program's operators
  std::vector<PlanResult> results;  // by policy, budgets ascending
  struct Smallest {
    std::string policy;
    std::size_t budget_bytes = 0;  // 0: none
  };
  std::vector<Smallest> smallest;  // that completes within four times the time, to a thousandth of the peak
};

PlanAnswer plan(const Trace& trace, const PlanQuestion& question);

std::string_view to_string(Status status) noexcept;  // ok, infeasible, thrash

}  // namespace regrow::remat
