// SPDX-License-Identifier: Apache-2.0
// A child-sum tree LSTM (Tai, Socher, Manning 2015, equations 2 to 8) that reads the value off nested list expressions. The
// network has the shape of the expression, so it is another one every step.
#include <span>

#include "regrow/base/hash.h"
#include "regrow/cli/models/model.h"
#include "regrow/data/list_ops.h"

namespace regrow::cli {
namespace {

constexpr std::int64_t steps_per_epoch = 500, held_out_batches = 20;

using NodeState = nn::LSTMState;  // for every expression of the batch: (batch, width)

struct TreeLstm : nn::Module {
  nn::Embedding tokens;
  nn::Linear inputs;    // of the gates i, o, u and f
  nn::Linear operands;  // of the gates i, o, u
  nn::Linear forget;    // of f, one a child
  nn::Linear output;

  explicit TreeLstm(std::int64_t width)
      : tokens(data::list_tokens, width),
        inputs(width, 4 * width),
        operands(width, 3 * width, {.bias = false}),
        forget(width, width, {.bias = false}),
        output(width, 10) {
    add("tokens", tokens), add("inputs", inputs), add("operands", operands), add("forget", forget), add("output", output);
  }

  NodeState node(const Tensor& token, std::span<const NodeState> under) const {
    std::vector<Tensor> gates = split(inputs(tokens(token)), 4, {.axis = 1});
    Tensor kept;
    if (!under.empty()) {
      Tensor hidden = under[0].hidden;
      for (const NodeState& child : under.subspan(1)) hidden = hidden + child.hidden;
      const std::vector<Tensor> more = split(operands(hidden), 3, {.axis = 1});
      for (std::size_t i = 0; i < 3; ++i) gates[i] = gates[i] + more[i];
      for (const NodeState& child : under) {
        const Tensor part = sigmoid(gates[3] + forget(child.hidden)) * child.cell;
        kept = kept.defined() ? kept + part : part;
      }
    }
    Tensor cell = sigmoid(gates[0]) * tanh(gates[2]);
    if (kept.defined()) cell = cell + kept;
    return {sigmoid(gates[1]) * tanh(cell), cell};
  }
  // Postfix order: the operands of a node stand before it.
  Tensor operator()(const std::vector<std::int64_t>& shape, const Tensor& tokens_of_nodes) const {
    std::vector<NodeState> open;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const std::size_t first = open.size() - static_cast<std::size_t>(shape[i]);
      const NodeState state = node(tokens_of_nodes[static_cast<std::int64_t>(i)], std::span(open).subspan(first));
      open.resize(first);
      open.push_back(state);
    }
    return output(open.back().hidden);
  }
};

// The number of children of each node, the tokens, the values.
Batch as_batch(data::ExpressionBatch expressions) {
  const auto nodes = static_cast<std::int64_t>(expressions.children.size());
  return {HostArray::from(expressions.children, {nodes}), std::move(expressions.tokens), std::move(expressions.labels)};
}

Model make(const Setting& setting) {
  const TreeLstm net(setting.extent.width);
  const data::ListOpsOptions options{.batch = setting.extent.batch, .digits = setting.extent.length};
  const auto logits = [net](const Batch& batch) { return net(batch[0].to_vector<std::int64_t>(), tensor(batch[1])); };
  const auto held_out = [=, seed = hash_combine(setting.seed, 1)] {
    Tensor right;
    for (std::int64_t i = 0; i < held_out_batches; ++i) {
      const Batch batch = as_batch(data::list_ops_batch(seed, i, options));
      const Tensor hits = mean((argmax(logits(batch), {.axis = -1}) == tensor(batch[2])).astype(DType::f32));
      right = right.defined() ? right + hits : hits;
    }
    return static_cast<double>(right.item<float>()) / held_out_batches;
  };
  return {
      .module = net,
      .steps_per_epoch = steps_per_epoch,
      .batch = [options, seed = setting.seed](std::int64_t step) { return as_batch(data::list_ops_batch(seed, step, options)); },
      .loss = [logits](const Batch& batch) { return cross_entropy(logits(batch), tensor(batch[2])); },
      .measure = held_out};
}

}  // namespace

ModelSpec treelstm() {
  return {.name = "treelstm",
          .doc = "child-sum tree LSTM that evaluates nested lists of digits (ListOps), another tree every step; --length: digits",
          .units = "expressions",
          .measure = "accuracy",
          .data = "",
          .small = {.width = 32, .batch = 16, .length = 10},
          .medium = {.width = 64, .batch = 64, .length = 60},
          .large = {.width = 128, .batch = 128, .length = 120},
          .learning_rate = 2e-3,
          .epochs = 1,
          .optimizer = adamw,
          .make = make};
}

}  // namespace regrow::cli
