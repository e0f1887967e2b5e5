// SPDX-License-Identifier: Apache-2.0
// Which settings of next-use suit a program: its trace is replayed under several exponents, and in smaller budgets than the one there
// is, and the fastest is taken. A run in a smaller budget fits a larger one, so what is found never gets worse with the budget. One thread.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "regrow/remat/history.h"
#include "regrow/remat/next_use.h"
#include "regrow/remat/outcome.h"
#include "regrow/remat/trace.h"

namespace regrow::remat {

struct Tuned {
  NextUseSettings settings;
  std::size_t budget = 0;  // that the policy keeps to: not more than the one there is
  Outcome outcome;
  double search_seconds = 0;
};

class Tuning {
 public:
  // The trace outlives it, and counts as its own previous iteration. `peak`: of its run without a budget.
  Tuning(const Trace& trace, std::size_t peak);

  // The best for this budget. Settings that were tried for other budgets are remembered.
  Tuned best(std::size_t budget);
  // Whether any settings complete in it.
  bool works(std::size_t budget) const;

 private:
  struct Tried {
    std::size_t budget;
    NextUseSettings settings;
    Outcome outcome;
  };
  Outcome run(const NextUseSettings& settings, std::size_t budget) const;
  void try_all(std::size_t budget);

  const Trace& trace_;
  std::size_t peak_;
  History history_;
  std::vector<Tried> tried_;               // the best of each budget
  absl::flat_hash_map<std::size_t, bool> done_;  // budgets
};

// Less is better: what completes before what does not, then by time.
bool is_better(const Outcome& a, const Outcome& b) noexcept;

}  // namespace regrow::remat
