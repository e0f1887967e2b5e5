// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/lstm.h"

#include "regrow/ops/lstm.h"
#include "regrow/tensor/format.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  const Shape &active = call[2].shape, &cell = call[3].shape;
  require(active.size() == 2 && cell.size() == 2 && active[0] == cell[0] && active[1] == 4 * cell[1],
          "gates and cells have the shapes (N, 4 H) and (N, H), not {} and {}", active, cell);
  for (std::size_t i : {0, 1, 4}) require(call[i].shape == cell, "a state has the shape {}, not {}", cell, call[i].shape);
  call.out[0].shape = active, call.out[1].shape = cell;
  for (OutDesc& out : call.out) out.strides = contiguous_strides(out.shape);
}

void compute(const ComputeCall& call) {
  kernels::lstm_cell_back({call.in[0], call.in[1], call.in[2], call.in[3], call.in[4], call.out[0], call.out[1]}, call.workspace);
}

}  // namespace

OpDef lstm_cell_gradient() {
  return {
      .doc = "The gradients of gates and cells of lstm_cell from those of its hidden states and cells.",
      .inputs = {"d_hidden", "d_next", "active", "cell", "next"},
      .outputs = {"d_gates", "d_cell"},
      .dtypes = [](std::span<const DType> in, const Attrs&, std::span<DType> out) { lstm_dtypes(in, false, out); },
      .infer = infer,
      .compute = compute,
      .workspace = [](const CostCall& call) { return kernels::lstm_cell_back_workspace(*call.in[2]); },
      .samples = {{.inputs = {{3, 2}, {3, 2}, {3, 8}, {3, 2}, {3, 2}}, .low = 0.1, .high = 0.9}},
  };
}

}  // namespace regrow::ops
