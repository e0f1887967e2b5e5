// SPDX-License-Identifier: Apache-2.0
// Long short-term memory: a cell, and layers of it over a sequence. One thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "regrow/nn/module.h"

namespace regrow::nn {

// Empty tensors stand for zeros.
struct LSTMState {
  Tensor hidden, cell;
};

struct LSTMCellOptions {
  bool bias = true;
};

// Parameters as in PyTorch, drawn from U(-1 / sqrt(H), 1 / sqrt(H)): weight_ih (4 H, in), weight_hh (4 H, H), bias_ih and bias_hh
// (4 H,); gates in the order input, forget, candidate, output.
class LSTMCell : public Module {
 public:
  LSTMCell(std::int64_t in, std::int64_t hidden, const LSTMCellOptions& options = {}, Site site = Site::here());
  // x (N, in); the state before and after, (N, H).
  LSTMState operator()(const Tensor& x, const LSTMState& state = {}, Site site = Site::here()) const;

 private:
  std::int64_t hidden_;
  Parameter weight_ih_, weight_hh_, bias_ih_, bias_hh_;
};

struct LSTMOptions {
  std::int64_t layers = 1;
  bool bias = true;
  bool batch_first = false;  // (N, T, …) instead of (T, N, …)
  double dropout = 0;        // in training, between layers
  // At most this many steps an operation; 0: all. Fewer are a smaller working set, for a budget; values stay the same.
  std::int64_t steps_together = 0;
};

struct LSTMOutput {
  Tensor out;       // hidden states of the last layer, all steps: (T, N, H)
  LSTMState state;  // of all layers after the last step: (layers, N, H)
};

// Parameters named as PyTorch's: weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, weight_ih_l1, …
class LSTM : public Module {
 public:
  LSTM(std::int64_t in, std::int64_t hidden, const LSTMOptions& options = {}, Site site = Site::here());
  // x (T, N, in), the state before the first step, (layers, N, H).
  LSTMOutput operator()(const Tensor& x, const LSTMState& state = {}, Site site = Site::here()) const;

 private:
  struct Layer {
    Parameter weight_ih, weight_hh, bias_ih, bias_hh;
  };
  LSTMOutput run(const Layer& layer, const Tensor& x, const LSTMState& state, Site site) const;

  std::int64_t hidden_;
  LSTMOptions options_;
  std::vector<Layer> layers_;
};

}  // namespace regrow::nn
