// SPDX-License-Identifier: Apache-2.0
// Which settings of next-use suit a program: its trace is replayed under several exponents, and in smaller budgets than the one there
// is; from the fastest of these a walk goes on that changes one weight at a time. A run in a smaller budget fits a larger one, so what is
// found never gets worse with the budget. One thread; the same trace gives the same answer.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "regrow/remat/disk.h"
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
  // The trace outlives it, and counts as its own previous iteration. `peak`: of its run without a budget. `walk`: replays that try weights,
  // in each budget.
  Tuning(const Trace& trace, std::size_t peak, std::size_t walk = 400, const Disk& disk = {});

  // The best for this budget. Settings that were tried for other budgets are remembered.
  Tuned best(std::size_t budget);
  // One replay more on the way to it; false: none is left.
  bool try_one(std::size_t budget);
  // Of those tried so far.
  Tuned best_so_far(std::size_t budget) const;
  // Whether any settings complete in it.
  bool works(std::size_t budget) const;

 private:
  struct Tried {
    std::size_t budget;
    NextUseSettings settings;
    Outcome outcome;
  };
  Outcome run(const NextUseSettings& settings, std::size_t budget) const;
  bool try_one_in(std::size_t budget);
  bool walk_on(std::size_t budget);
  const Tried* best_tried(std::size_t budget) const;

  const Trace& trace_;
  std::size_t peak_, walk_;
  Disk disk_;
  std::vector<std::uint64_t> keys_;  // of operations that may run again
  History history_;
  std::vector<Tried> tried_;
  absl::flat_hash_map<std::size_t, std::size_t> done_, walked_;  // how many settings and weights, by budget
};

// Less is better: what completes before what does not, then by time.
bool is_better(const Outcome& a, const Outcome& b) noexcept;

}  // namespace regrow::remat
