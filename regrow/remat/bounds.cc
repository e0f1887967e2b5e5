// SPDX-License-Identifier: Apache-2.0
#include "regrow/remat/bounds.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "regrow/machine/ledger.h"
#include "regrow/remat/lives.h"

namespace regrow::remat {
namespace {

using Kind = TraceCommand::Kind;

struct Item {
  std::uint32_t maker;
  double seconds;
  double bytes;
};

// The least cost of `excess` bytes, in fractions.
double knapsack(std::vector<Item>& items, double excess) {
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.maker < b.maker; });
  std::size_t groups = 0;  // what one operation makes comes together
  for (const Item& item : items) {
    if (groups > 0 && items[groups - 1].maker == item.maker) items[groups - 1].bytes += item.bytes;
    else items[groups++] = item;
  }
  items.resize(groups);
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.seconds * b.bytes < b.seconds * a.bytes; });
  double cost = 0;
  for (const Item& item : items) {
    if (item.bytes >= excess) return cost + item.seconds * excess / item.bytes;
    cost += item.seconds;
    excess -= item.bytes;
  }
  return std::numeric_limits<double>::infinity();
}

}  // namespace

std::size_t floor_with_disk(const Trace& trace, std::size_t staging) {
  Lives lives(trace, true);
  const auto charged = [](std::size_t bytes) { return machine::need_of(bytes).charged; };
  std::size_t pinned = 0, largest = 0;
  std::vector<bool> counted;
  lives.each_operation([&](std::uint32_t at, const std::vector<std::uint32_t>& touched) {
    const TraceCommand& c = trace.commands()[at];
    if (c.kind == Kind::pin) {
      counted.resize(std::max<std::size_t>(counted.size(), touched[0] + std::size_t{1}));
      if (!counted[touched[0]]) pinned += charged(lives[touched[0]].bytes);
      counted[touched[0]] = true;
    }
    std::size_t bytes = c.kind == Kind::apply ? charged(c.bytes) : 0;
    for (std::uint32_t id : touched) bytes += id < counted.size() && counted[id] ? 0 : charged(lives[id].bytes);
    largest = std::max(largest, pinned + bytes);
  });
  for (const TraceCommand& c : trace.commands()) {  // a value that is put
    if (c.kind == Kind::put) largest = std::max(largest, charged(c.bytes));
  }
  return largest + staging;
}

std::size_t floor_bytes(const Trace& trace, bool rounded) {
  Lives lives(trace, rounded);
  std::uint64_t pinned = 0, most = 0;
  std::vector<bool> counted;
  lives.each_operation([&](std::uint32_t at, const std::vector<std::uint32_t>& touched) {
    const TraceCommand& c = trace.commands()[at];
    if (c.kind == Kind::pin && !lives[touched[0]].source) {
      counted.resize(std::max<std::size_t>(counted.size(), touched[0] + std::size_t{1}));
      if (!counted[touched[0]]) pinned += lives[touched[0]].bytes;
      counted[touched[0]] = true;
    }
    std::uint64_t bytes = lives.fixed_bytes() + pinned;
    if (c.kind == Kind::apply) bytes += rounded ? machine::Placement::rounded(c.bytes) : c.bytes;
    for (std::uint32_t id : touched) bytes += lives[id].source || lives[id].pinned ? 0 : lives[id].bytes;
    most = std::max(most, bytes);
  });
  return most;
}

double lower_bound(const Trace& trace, std::size_t budget) {
  Lives lives(trace);
  std::vector<Item> items;
  double most = 0;
  lives.each_operation([&](std::uint32_t at, const std::vector<std::uint32_t>& touched) {
    const std::uint64_t workspace = trace.commands()[at].kind == Kind::apply ? trace.commands()[at].bytes : 0;
    if (lives.alive_bytes() + workspace <= budget) return;
    double excess = static_cast<double>(lives.alive_bytes() + workspace - budget);
    items.clear();
    for (std::uint32_t id : lives.alive()) {
      const Life& life = lives[id];
      if (life.source || life.pinned || std::binary_search(touched.begin(), touched.end(), id)) continue;
      if (life.last_use <= at) excess -= static_cast<double>(life.bytes);  // nobody will miss it
      else items.push_back({life.maker, trace.commands()[life.maker].seconds, static_cast<double>(life.bytes)});
    }
    if (excess > 0) most = std::max(most, knapsack(items, excess));
  });
  return most / trace.seconds();
}

}  // namespace regrow::remat
