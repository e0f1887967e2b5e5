// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/lstm.h"

#include "regrow/ops/contiguous.h"
#include "regrow/ops/lstm.h"
#include "regrow/tensor/format.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  const Shape &gates = call[0].shape, &hidden = call[1].shape;
  require(gates.size() == 3 && hidden.size() == 2 && gates[1] == hidden[0] && gates[2] == 4 * hidden[1],
          "gates and hidden states have the shapes (T, N, 4 H) and (N, H), not {} and {}", gates, hidden);
  require(call[2].shape == hidden, "cells have the shape {}, not {}", hidden, call[2].shape);
  const Shape weight = {gates[2], hidden[1]};
  require(call[3].shape == weight, "the weight has the shape {}, not {}", weight, call[3].shape);
  call.out[0].shape = call.out[1].shape = {gates[0], hidden[0], hidden[1]};
  call.out[2].shape = gates;
  for (OutDesc& out : call.out) out.strides = contiguous_strides(out.shape);
}

void compute(const ComputeCall& call) {
  ContiguousInputs in(call.in, call.workspace);
  kernels::lstm({in[0], in[1], in[2], in[3], call.out[0], call.out[1], call.out[2]}, in.rest());
}

std::size_t workspace(const CostCall& call) { return contiguous_bytes(call.in) + kernels::lstm_workspace(*call.in[0]); }

Cost cost(const CostCall& call) {
  Cost cost;
  cost.flops = static_cast<double>(call.in[0]->count()) * (2 * static_cast<double>(call.in[1]->shape[1]) + 20);
  for (const Desc* desc : call.in) cost.bytes += static_cast<double>(desc->bytes());
  for (const Desc* desc : call.out) cost.bytes += static_cast<double>(desc->bytes());
  return cost;
}

Var transposed(Var x) { return op<"permute_dims">({x}, {{"axes", Dims{1, 0}}}); }
Var flat(Var x) {
  const Shape& shape = x.recorder->desc(x).shape;
  return op<"reshape">({x}, {{"shape", Shape{shape[0] * shape[1], shape[2]}}});
}

// Of the weight: every step's gates with the hidden states before it. Two products, so that nothing is joined.
Var weight_gradient(const Gradient& g, Var d_gates) {
  const std::int64_t steps = g.in_desc(0).shape[0];
  const Var first = op<"matmul">(transposed(at_step(d_gates, 0)), g.in(1));
  if (steps == 1) return first;
  const Var later = flat(between_steps(d_gates, 1, steps)), before = flat(between_steps(g.out(0), 0, steps - 1));
  return op<"matmul">(transposed(later), before) + first;
}

Var zeros(const Gradient& g, const Shape& shape, Var like) {
  return op<"broadcast_to">({g.recorder().constant(0, g.in_desc(0).dtype, like)}, {{"shape", shape}});
}

// d_gates, d_first_hidden, d_first_cell
std::array<Var, 3> states_back(Gradient& g, Var any) {
  static const regrow::Op back = regrow::op("lstm_gradient");
  const Var d_hidden = g.has_grad(0) ? g.grad(0) : zeros(g, g.out_desc(0).shape, any);
  Var in[6] = {d_hidden, g.out(2), g.out(1), g.in(2), g.in(3), {}};
  if (g.has_grad(1)) in[5] = g.grad(1);
  std::array<Var, 3> out;
  g.recorder().call(back, {in, std::size_t(g.has_grad(1) ? 6 : 5)}, {}, out);
  return out;
}

// The same step by step, in operators that have gradients themselves.
std::array<Var, 3> composed_back(Gradient& g) {
  const std::int64_t steps = g.in_desc(0).shape[0];
  std::vector<Var> d_gates(static_cast<std::size_t>(steps));
  Var d_hidden, d_cell;
  const Shape gates = g.in_desc(0).shape;
  const auto plus = [](Var a, Var b) { return a && b ? a + b : a ? a : b; };
  for (std::int64_t t = steps; t-- > 0;) {
    if (g.has_grad(0)) d_hidden = plus(d_hidden, at_step(g.grad(0), t));
    if (g.has_grad(1)) d_cell = plus(d_cell, at_step(g.grad(1), t));
    const LstmStepGradient back =
        lstm_step_back({at_step(g.out(2), t), t > 0 ? at_step(g.out(1), t - 1) : g.in(2), at_step(g.out(1), t), d_hidden, d_cell,
                        g.has_grad(2) ? at_step(g.grad(2), t) : Var()});
    d_cell = back.d_cell;
    d_hidden = op<"matmul">(back.d_gates, g.in(3));
    d_gates[static_cast<std::size_t>(t)] = op<"reshape">({back.d_gates}, {{"shape", Shape{1, gates[1], gates[2]}}});
  }
  Var joined;
  g.recorder().call(regrow::op("concat", {{"axis", 0}}), d_gates, {}, {&joined, 1});
  return {joined, d_hidden, d_cell};
}

void gradient(Gradient& g) {
  const Var any = g.has_grad(0) ? g.grad(0) : g.has_grad(1) ? g.grad(1) : g.grad(2);
  if (g.in_desc(0).shape[0] == 0) {
    for (std::size_t i = 0; i < 4; ++i)
      if (g.wants(i)) g.set(i, zeros(g, g.in_desc(i).shape, any));
    return;
  }
  const std::array<Var, 3> back = g.recorded() || g.has_grad(2) ? composed_back(g) : states_back(g, any);
  for (std::size_t i = 0; i < 3; ++i)
    if (g.wants(i)) g.set(i, back[i]);
  if (g.wants(3)) g.set(3, weight_gradient(g, back[0]));
}

}  // namespace

OpDef lstm() {
  return {
      .doc =
          "Long short-term memory over a sequence: from the gates (T, N, 4 H) that inputs and biases give, the state (N, H) "
          "before "
          "the first step and the weight (4 H, H) of the hidden state, the hidden states and the cells of all steps, (T, N, H), "
          "and the gates after their functions.",
      .inputs = {"gates", "first_hidden", "first_cell", "weight"},
      .outputs = {"hidden", "cells", "active"},
      .dtypes = [](std::span<const DType> in, const Attrs&, std::span<DType> out) { lstm_dtypes(in, true, out); },
      .infer = infer,
      .compute = compute,
      .workspace = workspace,
      .cost = cost,
      .gradient = gradient,
      .saves_inputs = 0b1110,
      .saves_outputs = 0b111,
      .samples = {{.inputs = {{3, 2, 8}, {2, 2}, {2, 2}, {8, 2}}},
                  {.inputs = {{1, 3, 12}, {3, 3}, {3, 3}, {12, 3}}},
                  {.inputs = {{0, 2, 8}, {2, 2}, {2, 2}, {8, 2}}}},
  };
}

}  // namespace regrow::ops
