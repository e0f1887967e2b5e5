// SPDX-License-Identifier: Apache-2.0
#include "regrow/data/list_ops.h"

#include <algorithm>
#include <numeric>

#include "regrow/base/error.h"
#include "regrow/base/hash.h"
#include "regrow/data/random.h"

namespace regrow::data {
namespace {

// Cuts `digits` into so many positive parts, each cut equally likely.
std::vector<std::int64_t> parts_of(std::int64_t digits, std::int64_t count, SplitMix64& random) {
  std::vector<std::int64_t> cuts = {0, digits};
  while (static_cast<std::int64_t>(cuts.size()) < count + 1) {
    const std::int64_t cut = random.between(1, digits - 1);
    if (std::find(cuts.begin(), cuts.end(), cut) == cuts.end()) cuts.push_back(cut);
  }
  std::sort(cuts.begin(), cuts.end());
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) cuts[i] = cuts[i + 1] - cuts[i];
  cuts.pop_back();
  return cuts;
}

// A tree of this many digits, its nodes from the root on, each node before its operands; turned round that is postfix order.
std::vector<std::int64_t> shape_of(std::int64_t digits, std::int64_t operands, SplitMix64& random) {
  std::vector<std::int64_t> children, open = {digits};
  while (!open.empty()) {
    const std::int64_t under = open.back();
    open.pop_back();
    const std::int64_t count = under == 1 ? 0 : random.between(2, std::min(operands, under));
    children.push_back(count);
    if (count == 0) continue;
    const std::vector<std::int64_t> parts = parts_of(under, count, random);
    open.insert(open.end(), parts.begin(), parts.end());
  }
  std::reverse(children.begin(), children.end());
  return children;
}

std::int64_t apply(ListOp op, std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  switch (op) {
    case ListOp::min: return values.front();
    case ListOp::max: return values.back();
    case ListOp::med: return (values[(n - 1) / 2] + values[n / 2]) / 2;
    case ListOp::sm: return std::accumulate(values.begin(), values.end(), std::int64_t{0}) % 10;
  }
  return 0;
}

std::string name_of_token(std::int64_t token) {
  constexpr const char* names[] = {"MIN", "MAX", "MED", "SM"};
  return token < 10 ? std::to_string(token) : std::string(names[token - 10]);
}

// Postfix evaluation: `combine` takes a node's token and what came of its operands.
template <class T, class Combine>
T fold(const std::vector<std::int64_t>& children, const std::vector<std::int64_t>& tokens, Combine combine) {
  std::vector<T> open;
  for (std::size_t node = 0; node < children.size(); ++node) {
    const auto first = open.end() - children[node];
    T value = combine(tokens[node], std::vector<T>(first, open.end()));
    open.erase(first, open.end());
    open.push_back(std::move(value));
  }
  return open.back();
}

}  // namespace

std::int64_t value_of(const std::vector<std::int64_t>& children, const std::vector<std::int64_t>& tokens) {
  return fold<std::int64_t>(children, tokens, [](std::int64_t token, const std::vector<std::int64_t>& operands) {
    return token < 10 ? token : apply(static_cast<ListOp>(token), operands);
  });
}

std::string to_string(const std::vector<std::int64_t>& children, const std::vector<std::int64_t>& tokens) {
  return fold<std::string>(children, tokens, [](std::int64_t token, const std::vector<std::string>& operands) {
    if (operands.empty()) return name_of_token(token);
    std::string text = "[" + name_of_token(token);
    for (const std::string& operand : operands) text += " " + operand;
    return text + "]";
  });
}

ExpressionBatch list_ops_batch(std::uint64_t seed, std::int64_t step, const ListOpsOptions& options) {
  require(options.batch >= 1, "a batch must have at least one item, not {}", options.batch);
  require(options.digits >= 2 && options.operands >= 2, "an expression has at least 2 digits and operands, not {} and {}",
          options.digits, options.operands);
  SplitMix64 random(hash_combine(seed, static_cast<std::uint64_t>(step)));
  ExpressionBatch batch;
  batch.children =
      shape_of(random.between(std::max<std::int64_t>(options.digits / 2, 2), options.digits), options.operands, random);
  const auto nodes = batch.children.size(), count = static_cast<std::size_t>(options.batch);
  std::vector<std::int64_t> tokens(nodes * count), labels, one(nodes);
  for (std::size_t b = 0; b < count; ++b) {
    for (std::size_t node = 0; node < nodes; ++node) {
      one[node] = batch.children[node] == 0 ? random.between(0, 9) : random.between(10, list_tokens - 1);
      tokens[node * count + b] = one[node];
    }
    labels.push_back(value_of(batch.children, one));
  }
  batch.tokens = HostArray::from(tokens, {static_cast<std::int64_t>(nodes), options.batch});
  batch.labels = HostArray::from(labels, {options.batch});
  return batch;
}

}  // namespace regrow::data
