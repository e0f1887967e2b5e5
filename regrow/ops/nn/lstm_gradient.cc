// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/lstm.h"

#include "regrow/ops/contiguous.h"
#include "regrow/ops/lstm.h"
#include "regrow/tensor/format.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  require(in.size() <= 6, "takes 5 or 6 inputs, not {}", in.size());
  lstm_dtypes(in, true, out);
}

void infer(const InferCall& call) {
  const Shape &active = call[1].shape, &state = call[3].shape;
  require(active.size() == 3 && state.size() == 2 && active[1] == state[0] && active[2] == 4 * state[1],
          "gates and cells have the shapes (T, N, 4 H) and (N, H), not {} and {}", active, state);
  const Shape states = {active[0], state[0], state[1]}, weight = {active[2], state[1]};
  for (std::size_t i = 0; i < call.in.size(); ++i)
    if (i != 1 && i != 3 && i != 4)
      require(call[i].shape == states, "the states of all steps have the shape {}, not {}", states, call[i].shape);
  require(call[4].shape == weight, "the weight has the shape {}, not {}", weight, call[4].shape);
  call.out[0].shape = active, call.out[1].shape = call.out[2].shape = state;
  for (OutDesc& out : call.out) out.strides = contiguous_strides(out.shape);
}

void compute(const ComputeCall& call) {
  ContiguousInputs in(call.in, call.workspace);
  kernels::LstmBack back{in[0], {}, in[1], in[2], in[3], in[4], call.out[0], call.out[1], call.out[2]};
  if (call.in.size() > 5) back.d_cells = in[5];
  kernels::lstm_back(back, in.rest());
}

std::size_t workspace(const CostCall& call) { return contiguous_bytes(call.in) + kernels::lstm_back_workspace(*call.in[1]); }

Cost cost(const CostCall& call) {
  Cost cost;
  cost.flops = static_cast<double>(call.in[1]->count()) * (2 * static_cast<double>(call.in[3]->shape[1]) + 20);
  for (const Desc* desc : call.in) cost.bytes += static_cast<double>(desc->bytes());
  for (const Desc* desc : call.out) cost.bytes += static_cast<double>(desc->bytes());
  return cost;
}

}  // namespace

OpDef lstm_gradient() {
  return {
      .doc =
          "The gradients of the gates and of the first state of lstm, from those of the hidden states and, if given, of the cells; "
          "that of the weight follows from the gates'.",
      .inputs = {"d_hidden", "active", "cells", "first_cell", "weight", "d_cells..."},
      .outputs = {"d_gates", "d_first_hidden", "d_first_cell"},
      .dtypes = dtypes,
      .infer = infer,
      .compute = compute,
      .workspace = workspace,
      .cost = cost,
      .samples = {{.inputs = {{3, 2, 2}, {3, 2, 8}, {3, 2, 2}, {2, 2}, {8, 2}}, .low = 0.1, .high = 0.9},
                  {.inputs = {{2, 1, 3}, {2, 1, 12}, {2, 1, 3}, {1, 3}, {12, 3}, {2, 1, 3}}, .low = 0.1, .high = 0.9}},
  };
}

}  // namespace regrow::ops
