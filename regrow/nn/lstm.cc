// SPDX-License-Identifier: Apache-2.0
#include "regrow/nn/lstm.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "regrow/frontend/create.h"
#include "regrow/frontend/derived.h"
#include "regrow/nn/initializer.h"

namespace regrow::nn {
namespace {

Tensor or_zeros(const Tensor& state, std::int64_t rows, std::int64_t width, const Tensor& like, Site site) {
  return state.defined() ? state : zeros({rows, width}, {.dtype = like.dtype(site), .device = like.device(site)}, site);
}

// What inputs and biases give to the gates.
Tensor input_gates(const Tensor& x, const Parameter& weight, const Parameter& bias_ih, const Parameter& bias_hh, Site site) {
  return linear(x, weight.value(), bias_ih.defined() ? add(bias_ih.value(), bias_hh.value(), site) : Tensor(), site);
}

}  // namespace

LSTMCell::LSTMCell(std::int64_t in, std::int64_t hidden, const LSTMCellOptions& options, Site site) : hidden_(hidden) {
  if (in < 1 || hidden < 1) fail_at(site, "LSTMCell: {} inputs and {} hidden units", in, hidden);
  const double bound = 1 / std::sqrt(static_cast<double>(hidden));
  weight_ih_ = add("weight_ih", Parameter(uniform_within({4 * hidden, in}, bound, site), site), site);
  weight_hh_ = add("weight_hh", Parameter(uniform_within({4 * hidden, hidden}, bound, site), site), site);
  if (!options.bias) return;
  bias_ih_ = add("bias_ih", Parameter(uniform_within({4 * hidden}, bound, site), site), site);
  bias_hh_ = add("bias_hh", Parameter(uniform_within({4 * hidden}, bound, site), site), site);
}

LSTMState LSTMCell::operator()(const Tensor& x, const LSTMState& state, Site site) const {
  Tensor gates = input_gates(x, weight_ih_, bias_ih_, bias_hh_, site);
  const std::int64_t rows = x.shape(site)[0];
  if (state.hidden.defined()) gates = regrow::add(gates, linear(state.hidden, weight_hh_.value(), {}, site), site);
  const auto out = lstm_cell(gates, or_zeros(state.cell, rows, hidden_, gates, site), site);
  return {out[0], out[1]};
}

LSTM::LSTM(std::int64_t in, std::int64_t hidden, const LSTMOptions& options, Site site) : hidden_(hidden), options_(options) {
  if (in < 1 || hidden < 1 || options.layers < 1)
    fail_at(site, "LSTM: {} inputs, {} hidden units and {} layers", in, hidden, options.layers);
  if (!(options.dropout >= 0 && options.dropout < 1)) fail_at(site, "LSTM: the probability {} is not in [0, 1)", options.dropout);
  const double bound = 1 / std::sqrt(static_cast<double>(hidden));
  for (std::int64_t k = 0; k < options.layers; ++k) {
    const auto part = [&](const char* name, const Shape& shape) {
      return add(name + std::string("_l") + std::to_string(k), Parameter(uniform_within(shape, bound, site), site), site);
    };
    Layer layer;
    layer.weight_ih = part("weight_ih", {4 * hidden, k == 0 ? in : hidden});
    layer.weight_hh = part("weight_hh", {4 * hidden, hidden});
    if (options.bias) layer.bias_ih = part("bias_ih", {4 * hidden}), layer.bias_hh = part("bias_hh", {4 * hidden});
    layers_.push_back(layer);
  }
}

// One layer, in pieces of at most steps_together steps.
LSTMOutput LSTM::run(const Layer& layer, const Tensor& x, const LSTMState& state, Site site) const {
  const Shape shape = x.shape(site);
  const std::int64_t steps = shape[0], together = options_.steps_together > 0 ? options_.steps_together : std::max<std::int64_t>(steps, 1);
  std::vector<std::int64_t> sizes;
  for (std::int64_t at = 0; at < steps; at += together) sizes.push_back(std::min(together, steps - at));
  const std::vector<Tensor> pieces = sizes.size() > 1 ? split(x, sizes, {}, site) : std::vector<Tensor>{x};
  std::vector<Tensor> outs;
  LSTMState now = state;
  for (const Tensor& piece : pieces) {
    const Tensor gates = input_gates(piece, layer.weight_ih, layer.bias_ih, layer.bias_hh, site);
    now = {or_zeros(now.hidden, shape[1], hidden_, gates, site), or_zeros(now.cell, shape[1], hidden_, gates, site)};
    const auto out = lstm(gates, now.hidden, now.cell, layer.weight_hh.value(), site);
    outs.push_back(out[0]);
    if (steps > 0) now = {Tensor(out[0])[-1], Tensor(out[1])[-1]};
  }
  return {outs.size() == 1 ? outs[0] : concat(outs, {.axis = 0}, site), now};
}

LSTMOutput LSTM::operator()(const Tensor& x, const LSTMState& state, Site site) const {
  if (x.rank(site) != 3) fail_at(site, "LSTM: inputs have three axes, not {}", to_string(x.shape(site)));
  Tensor sequence = options_.batch_first ? transpose(x, 0, 1, site) : x;
  std::vector<Tensor> hidden, cells;
  for (std::size_t k = 0; k < layers_.size(); ++k) {
    const auto row = static_cast<std::int64_t>(k);
    LSTMState first;
    if (state.hidden.defined()) first.hidden = state.hidden[row];
    if (state.cell.defined()) first.cell = state.cell[row];
    const LSTMOutput done = run(layers_[k], sequence, first, site);
    sequence = done.out;
    hidden.push_back(done.state.hidden), cells.push_back(done.state.cell);
    if (k + 1 < layers_.size() && training() && options_.dropout > 0) sequence = dropout(sequence, {.p = options_.dropout}, site);
  }
  return {options_.batch_first ? transpose(sequence, 0, 1, site) : sequence, {stack(hidden, {}, site), stack(cells, {}, site)}};
}

}  // namespace regrow::nn
