// SPDX-License-Identifier: Apache-2.0
#include "regrow/remat/planner.h"

#include <algorithm>
#include <memory>

#include "regrow/base/error.h"
#include "regrow/remat/bounds.h"
#include "regrow/remat/policies.h"
#include "regrow/remat/published_replay.h"
#include "regrow/remat/replay.h"
#include "regrow/remat/tuning.h"

namespace regrow::remat {
namespace {

// Replays that try weights in each budget: 400, or fewer where many budgets are asked about, so that a table of any size comes to
// an end.
std::size_t walk_of(const PlanQuestion& question) {
  return std::min<std::size_t>(400, 3200 / std::max<std::size_t>(1, question.budgets.size() + question.ratios.size()));
}

// One policy in any budget.
class Contender {
 public:
  Contender(const Trace& trace, const PlanQuestion& question, std::string name, std::size_t peak)
      : trace_(trace), rules_(question.rules), disk_(question.disk), name_(std::move(name)) {
    if (name_ == "next-use" && question.tune && rules_ == Rules::regrow)
      tuning_ = std::make_unique<Tuning>(trace, peak, walk_of(question), disk_);
  }

  PlanResult run(std::size_t budget) {
    PlanResult result;
    result.policy = name_;
    result.budget_bytes = budget;
    if (tuning_) {
      const Tuned tuned = tuning_->best(budget);
      result.outcome = tuned.outcome;
      result.search_seconds = tuned.search_seconds;
      return result;
    }
    const auto policy = make_policy(name_, rules_ == Rules::published);
    if (auto* foretold = dynamic_cast<NextUsePolicy*>(policy.get())) foretold->learn(trace_);
    result.outcome =
        rules_ == Rules::published ? replay_published(trace_, *policy, budget) : replay(trace_, policy.get(), budget, disk_);
    return result;
  }

  std::size_t smallest(std::size_t floor, std::size_t peak) {
    std::size_t too_small = std::min(floor, peak), enough = peak;
    if (!works(enough)) return 0;
    if (works(too_small)) return too_small;
    while (enough - too_small > peak / 1000) {
      const std::size_t middle = too_small + (enough - too_small) / 2;
      (works(middle) ? enough : too_small) = middle;
    }
    return enough;
  }

 private:
  bool works(std::size_t budget) { return tuning_ ? tuning_->works(budget) : run(budget).outcome.status == Status::ok; }

  const Trace& trace_;
  Rules rules_;
  Disk disk_;
  std::string name_;
  std::unique_ptr<Tuning> tuning_;
};

}  // namespace

PlanAnswer plan(const Trace& trace, const PlanQuestion& question) {
  const bool published = question.rules == Rules::published;
  require(!published || trace.devices() == 1, "plan: the published rules know one device");
  PlanAnswer answer;
  if (published) {
    const auto policy = make_policy("lru", true);
    answer.peak_bytes = replay_published(trace, *policy, 0).peak_bytes;
  } else {
    answer.peak_bytes = replay(trace, nullptr, 0).peak_bytes;
  }
  require(!published || !question.disk, "plan: the published rules know no disk");
  answer.floor_bytes = question.disk ? floor_with_disk(trace, question.disk.staging_bytes) : floor_bytes(trace, !published);
  answer.own_seconds = trace.seconds();
  const auto peak = static_cast<double>(answer.peak_bytes);
  struct Asked {
    std::size_t budget;
    double ratio;
  };
  std::vector<Asked> asked;  // ratios first: a budget that is asked for in both ways keeps the ratio as it was given
  for (double ratio : question.ratios) asked.push_back({std::max<std::size_t>(static_cast<std::size_t>(ratio * peak), 1), ratio});
  for (std::size_t budget : question.budgets) asked.push_back({budget, static_cast<double>(budget) / peak});
  std::stable_sort(asked.begin(), asked.end(), [](const Asked& a, const Asked& b) { return a.budget < b.budget; });
  const auto same = [](const Asked& a, const Asked& b) { return a.budget == b.budget; };
  asked.erase(std::unique(asked.begin(), asked.end(), same), asked.end());
  std::vector<double> bounds;
  for (const Asked& each : asked) bounds.push_back(lower_bound(trace, each.budget));
  for (const std::string& name : question.policies) {
    require(!published || name != "coop", "plan: coop chooses by addresses, which the published rules do not have");
    Contender contender(trace, question, name, answer.peak_bytes);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      PlanResult result = contender.run(asked[i].budget);
      result.ratio = asked[i].ratio;
      result.lower_bound = bounds[i];
      answer.results.push_back(std::move(result));
    }
    if (question.smallest) answer.smallest.push_back({name, contender.smallest(answer.floor_bytes, answer.peak_bytes)});
  }
  return answer;
}

std::string_view to_string(Status status) noexcept {
  return status == Status::ok ? "ok" : status == Status::thrash ? "thrash" : "infeasible";
}

}  // namespace regrow::remat
