// SPDX-License-Identifier: Apache-2.0
#include "regrow/remat/tuning.h"

#include <algorithm>
#include <cmath>

#include "regrow/base/clock.h"
#include "regrow/base/hash.h"
#include "regrow/remat/replay.h"

namespace regrow::remat {
namespace {

constexpr struct {
  double alpha, beta;
} settings_tried[] = {{1, 1}, {0.5, 1}, {2, 1}, {0.75, 1}, {0.5, 0.5}, {1.5, 1}, {1, 0.5}, {0.3, 1}};
constexpr double factors[] = {0.25, 0.5, 0.7, 1.4, 2, 4};
constexpr double rung = 0.99;  // smaller budgets are tried at fixed fractions of the peak, so that neighbours share them
constexpr int rungs = 6;

}  // namespace

bool is_better(const Outcome& a, const Outcome& b) noexcept {
  if (a.status != b.status) return a.status == Status::ok || (a.status == Status::thrash && b.status == Status::infeasible);
  return a.seconds < b.seconds;
}

Tuning::Tuning(const Trace& trace, std::size_t peak, std::size_t walk, const Disk& disk)
    : trace_(trace), peak_(peak), walk_(walk), disk_(disk), history_(2 * trace.commands().size() + 1024) {
  history_.learn(trace);
  for (const TraceCommand& command : trace.commands()) {
    if (command.kind == TraceCommand::Kind::apply && command.replayable && !command.state) keys_.push_back(command.key);
  }
  std::sort(keys_.begin(), keys_.end());
  keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
}

Outcome Tuning::run(const NextUseSettings& settings, std::size_t budget) const {
  NextUsePolicy policy(settings);
  policy.learn(history_);
  return replay(trace_, &policy, std::max<std::size_t>(budget, 1), disk_);  // 0 would be none
}

bool Tuning::works(std::size_t budget) const {
  const auto completes = [&](const auto& each) { return run({.alpha = each.alpha, .beta = each.beta}, budget).status == Status::ok; };
  return std::any_of(std::begin(settings_tried), std::end(settings_tried), completes);
}

bool Tuning::try_one_in(std::size_t budget) {
  std::size_t& done = done_[budget];
  if (done == std::size(settings_tried)) return false;
  const NextUseSettings settings{.alpha = settings_tried[done].alpha, .beta = settings_tried[done].beta};
  ++done;
  tried_.push_back({budget, settings, run(settings, budget)});
  return true;
}

bool Tuning::try_one(std::size_t budget) {
  if (try_one_in(budget)) return true;
  const double first = std::ceil(std::log(static_cast<double>(budget) / static_cast<double>(peak_)) / std::log(rung));
  for (int k = 0; k < rungs && budget < peak_; ++k) {
    if (try_one_in(static_cast<std::size_t>(std::pow(rung, first + k) * static_cast<double>(peak_)))) return true;
  }
  return walk_on(budget);
}

const Tuning::Tried* Tuning::best_tried(std::size_t budget) const {
  const Tried* best = nullptr;
  for (const Tried& tried : tried_) {
    if (tried.budget <= budget && (best == nullptr || is_better(tried.outcome, best->outcome))) best = &tried;
  }
  return best;
}

// One weight of the best so far is changed; which, and how, is drawn by a generator that always begins alike.
bool Tuning::walk_on(std::size_t budget) {
  std::size_t& walked = walked_[budget];
  const Tried* best = best_tried(budget);
  if (walked == walk_ || keys_.empty() || best->outcome.status != Status::ok || best->outcome.recomputed == 0) return false;
  const std::uint64_t drawn = hash_combine(budget, walked++);
  const std::uint64_t key = keys_[drawn % keys_.size()];
  const double factor = factors[(drawn >> 32) % std::size(factors)];
  NextUseSettings settings = best->settings;
  const auto has_key = [&](const NextUseSettings::Weight& weight) { return weight.key == key; };
  const auto known = std::find_if(settings.weights.begin(), settings.weights.end(), has_key);
  if (known != settings.weights.end()) known->factor *= factor;
  else settings.weights.push_back({key, factor});
  const std::size_t kept_to = best->budget;
  const Outcome outcome = run(settings, kept_to);
  if (is_better(outcome, best->outcome)) tried_.push_back({kept_to, std::move(settings), outcome});
  return true;
}

Tuned Tuning::best_so_far(std::size_t budget) const {
  const Tried* best = best_tried(budget);
  if (best == nullptr) return {.settings = {}, .budget = budget, .outcome = {.status = Status::infeasible, .seconds = never}};
  return {.settings = best->settings, .budget = best->budget, .outcome = best->outcome};
}

Tuned Tuning::best(std::size_t budget) {
  const std::uint64_t begin = now_ns();
  while (try_one(budget)) {
  }
  Tuned best = best_so_far(budget);
  best.search_seconds = static_cast<double>(now_ns() - begin) * 1e-9;
  return best;
}

}  // namespace regrow::remat
