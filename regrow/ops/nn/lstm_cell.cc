// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/lstm.h"

#include "regrow/ops/lstm.h"
#include "regrow/tensor/format.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  const Shape &gates = call[0].shape, &cell = call[1].shape;
  require(gates.size() == 2 && cell.size() == 2 && gates[0] == cell[0] && gates[1] == 4 * cell[1],
          "gates and cells have the shapes (N, 4 H) and (N, H), not {} and {}", gates, cell);
  call.out[0].shape = call.out[1].shape = cell;
  call.out[2].shape = gates;
  for (OutDesc& out : call.out) out.strides = contiguous_strides(out.shape);
}

void compute(const ComputeCall& call) {
  kernels::lstm_cell({call.in[0], call.in[1], call.out[0], call.out[1], call.out[2]}, call.workspace);
}

void gradient(Gradient& g) {
  if (g.recorded() || g.has_grad(2)) {
    const LstmStepGradient back =
        lstm_step_back({g.out(2), g.in(1), g.out(1), g.has_grad(0) ? g.grad(0) : Var(), g.has_grad(1) ? g.grad(1) : Var(),
                        g.has_grad(2) ? g.grad(2) : Var()});
    g.set(0, back.d_gates), g.set(1, back.d_cell);
    return;
  }
  const Var any = g.has_grad(0) ? g.grad(0) : g.grad(1);
  const Var zeros = op<"broadcast_to">({g.recorder().constant(0, g.in_desc(1).dtype, any)}, {{"shape", g.in_desc(1).shape}});
  static const regrow::Op back = regrow::op("lstm_cell_gradient");
  const Var in[] = {g.has_grad(0) ? g.grad(0) : zeros, g.has_grad(1) ? g.grad(1) : zeros, g.out(2), g.in(1), g.out(1)};
  Var out[2];
  g.recorder().call(back, in, {}, out);
  g.set(0, out[0]), g.set(1, out[1]);
}

}  // namespace

OpDef lstm_cell() {
  return {
      .doc =
          "The cell of long short-term memory: from gates (N, 4 H), in the order input i, forget f, candidate g, output o, before "
          "their functions, and cells c (N, H): c' = f c + i g and h = o tanh c'. Results: h, c', and the gates after their functions.",
      .inputs = {"gates", "cell"},
      .outputs = {"hidden", "next", "active"},
      .dtypes = [](std::span<const DType> in, const Attrs&, std::span<DType> out) { lstm_dtypes(in, false, out); },
      .infer = infer,
      .compute = compute,
      .workspace = [](const CostCall& call) { return kernels::lstm_cell_workspace(*call.in[0]); },
      .gradient = gradient,
      .saves_inputs = 0b10,
      .saves_outputs = 0b110,
      .samples = {{.inputs = {{3, 8}, {3, 2}}}, {.inputs = {{2, 20}, {2, 5}}}, {.inputs = {{0, 8}, {0, 2}}}},
  };
}

}  // namespace regrow::ops
