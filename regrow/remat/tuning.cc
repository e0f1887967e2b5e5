// SPDX-License-Identifier: Apache-2.0
#include "regrow/remat/tuning.h"

#include <algorithm>
#include <cmath>

#include "regrow/base/clock.h"
#include "regrow/remat/replay.h"

namespace regrow::remat {
namespace {

constexpr NextUseSettings settings_tried[] = {{1, 1}, {0.5, 1}, {2, 1}, {0.75, 1}, {0.5, 0.5}, {1.5, 1}, {1, 0.5}, {0.3, 1}};
constexpr double rung = 0.99;  // smaller budgets are tried at fixed fractions of the peak, so that neighbours share them
constexpr int rungs = 6;

}  // namespace

bool is_better(const Outcome& a, const Outcome& b) noexcept {
  if (a.status != b.status) return a.status == Status::ok || (a.status == Status::thrash && b.status == Status::infeasible);
  return a.seconds < b.seconds;
}

Tuning::Tuning(const Trace& trace, std::size_t peak) : trace_(trace), peak_(peak), history_(2 * trace.commands().size() + 1024) {
  history_.learn(trace);
}

Outcome Tuning::run(const NextUseSettings& settings, std::size_t budget) const {
  NextUsePolicy policy(settings);
  policy.learn(history_);
  return replay(trace_, &policy, budget);
}

bool Tuning::works(std::size_t budget) const {
  const auto completes = [&](const NextUseSettings& each) { return run(each, budget).status == Status::ok; };
  return std::any_of(std::begin(settings_tried), std::end(settings_tried), completes);
}

void Tuning::try_all(std::size_t budget) {
  if (!done_.try_emplace(budget, true).second) return;
  Tried best{.budget = budget, .settings = {}, .outcome = {.status = Status::infeasible, .seconds = never}};
  for (const NextUseSettings& settings : settings_tried) {
    const Outcome outcome = run(settings, budget);
    if (is_better(outcome, best.outcome)) best = {budget, settings, outcome};
  }
  tried_.push_back(best);
}

Tuned Tuning::best(std::size_t budget) {
  const std::uint64_t begin = now_ns();
  try_all(budget);
  const double first = std::ceil(std::log(static_cast<double>(budget) / static_cast<double>(peak_)) / std::log(rung));
  for (int k = 0; k < rungs && budget < peak_; ++k) {
    try_all(static_cast<std::size_t>(std::pow(rung, first + k) * static_cast<double>(peak_)));
  }
  const Tried* best = nullptr;
  for (const Tried& tried : tried_) {
    if (tried.budget <= budget && (best == nullptr || is_better(tried.outcome, best->outcome))) best = &tried;
  }
  return {.settings = best->settings, .budget = best->budget, .outcome = best->outcome,
          .search_seconds = static_cast<double>(now_ns() - begin) * 1e-9};
}

}  // namespace regrow::remat
