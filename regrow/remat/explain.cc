// SPDX-License-Identifier: Apache-2.0
#include "regrow/remat/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "regrow/remat/lives.h"
#include "regrow/remat/next_use.h"
#include "regrow/remat/replay.h"

namespace regrow::remat {
namespace {

using Kind = TraceCommand::Kind;

// What is alive at a command, told by what may go.
Explanation::Moment moment_at(const Trace& trace, const Lives& lives, std::uint32_t at, const std::vector<std::uint32_t>& touched) {
  const TraceCommand& c = trace.commands()[at];
  Explanation::Moment moment{.command = at, .operation = c.kind == Kind::apply ? std::string(trace.name(c)) : "a value asked for"};
  moment.operands_bytes = c.kind == Kind::apply ? c.bytes : 0;
  for (std::uint32_t id : lives.alive()) {
    const Life& life = lives[id];
    const bool operand = std::binary_search(touched.begin(), touched.end(), id);
    (life.source || life.pinned ? moment.pinned_bytes : operand ? moment.operands_bytes : moment.evictable_bytes) += life.bytes;
  }
  return moment;
}

std::size_t total(const Explanation::Moment& moment) { return moment.pinned_bytes + moment.operands_bytes + moment.evictable_bytes; }
std::size_t fixed(const Explanation::Moment& moment) { return moment.pinned_bytes + moment.operands_bytes; }

std::vector<Explanation::Standing> standing_now(const Trace& trace, const Lives& lives) {
  std::map<std::string, Explanation::Standing> by_name;
  for (std::uint32_t id : lives.alive()) {
    const Life& life = lives[id];
    const TraceCommand& maker = trace.commands()[life.maker];
    const std::string name = life.source || maker.kind != Kind::apply ? "(sources)" : std::string(trace.name(maker));
    Explanation::Standing& its = by_name[name];
    its.name = name;
    its.tensors += 1;
    its.bytes += life.bytes;
    its.seconds += life.source ? 0 : maker.seconds;
  }
  std::vector<Explanation::Standing> sorted;
  for (auto& [name, its] : by_name) sorted.push_back(std::move(its));
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return sorted;
}

std::vector<Explanation::Again> done_again(const Trace& trace, std::size_t budget) {
  NextUsePolicy policy;
  policy.learn(trace);
  Replay replay(trace, &policy, budget);
  replay.run();
  std::map<std::string_view, Explanation::Again> by_name;
  for (std::size_t at = 0; at < replay.again().size(); ++at) {
    const auto [evictions, runs] = replay.again()[at];
    if (evictions + runs == 0) continue;
    const TraceCommand& c = trace.commands()[at];
    Explanation::Again& its = by_name[trace.name(c)];
    its.name = trace.name(c);
    its.evictions += evictions;
    its.runs += runs;
    its.seconds += runs * c.seconds;
  }
  std::vector<Explanation::Again> sorted;
  for (auto& [name, its] : by_name) sorted.push_back(std::move(its));
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return sorted;
}

}  // namespace

Explanation explain(const Trace& trace, std::size_t budget) {
  Explanation explanation;
  Lives lives(trace, true);
  lives.each_operation([&](std::uint32_t at, const std::vector<std::uint32_t>& touched) {
    const Explanation::Moment now = moment_at(trace, lives, at, touched);
    if (total(now) > total(explanation.peak)) {
      explanation.peak = now;
      explanation.standing = standing_now(trace, lives);
    }
    if (fixed(now) > fixed(explanation.floor)) explanation.floor = now;
  });
  if (budget > 0) explanation.again = done_again(trace, budget);
  return explanation;
}

}  // namespace regrow::remat
