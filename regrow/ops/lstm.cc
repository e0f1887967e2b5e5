// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/lstm.h"

#include <algorithm>

namespace regrow {
namespace {

// Gate `index` of (N, 4H).
Var gate(Var gates, std::int64_t index) {
  const Shape shape = gates.recorder->desc(gates).shape;
  const std::int64_t width = shape[1] / 4;
  return op<"slice">({gates},
                     {{"start", Dims{0, index * width}}, {"stop", Dims{shape[0], (index + 1) * width}}, {"step", Dims{1, 1}}});
}

Var sum(Var a, Var b) { return !a ? b : !b ? a : a + b; }
Var zeros_like(Var x) {
  const Desc desc = x.recorder->desc(x);
  return op<"broadcast_to">({x.recorder->constant(0, desc.dtype, x)}, {{"shape", desc.shape}});
}

}  // namespace

void lstm_dtypes(std::span<const DType> in, bool wide, std::span<DType> out) {
  const DType dtype = in[0];
  require(is_floating(dtype) && !(wide && size_of(dtype) == 2), "is not defined for {}", name_of(dtype));
  for (DType other : in) require(other == dtype, "the element types differ: {} and {}", name_of(dtype), name_of(other));
  std::fill(out.begin(), out.end(), dtype);
}

LstmStepGradient lstm_step_back(const LstmStepVars& s) {
  const Var input = gate(s.active, 0), forget = gate(s.active, 1), candidate = gate(s.active, 2), output = gate(s.active, 3);
  Var flow = s.d_next, d[4];
  if (s.d_hidden) {
    const Var squashed = op<"tanh">(s.next);
    d[3] = s.d_hidden * squashed;
    flow = sum(op<"tanh_gradient">(s.d_hidden * output, squashed), flow);
  }
  if (flow) d[0] = flow * candidate, d[1] = flow * s.cell, d[2] = flow * input;
  for (int k = 0; k < 4; ++k) {
    if (s.d_active) d[k] = sum(d[k], gate(s.d_active, k));
    if (!d[k]) d[k] = zeros_like(input);
    const Var value = k == 0 ? input : k == 1 ? forget : k == 2 ? candidate : output;
    d[k] = k == 2 ? op<"tanh_gradient">(d[k], value) : op<"sigmoid_gradient">(d[k], value);
  }
  return {op<"concat">({d[0], d[1], d[2], d[3]}, {{"axis", 1}}), flow ? flow * forget : zeros_like(s.cell)};
}

Var between_steps(Var x, std::int64_t first, std::int64_t last) {
  Dims start = Dims::filled(x.recorder->desc(x).shape.size(), 0), stop = x.recorder->desc(x).shape;
  start[0] = first, stop[0] = last;
  return op<"slice">({x}, {{"start", start}, {"stop", stop}, {"step", Dims::filled(stop.size(), 1)}});
}

Var at_step(Var x, std::int64_t at) {
  Shape shape = x.recorder->desc(x).shape;
  shape.erase(0);
  return op<"reshape">({between_steps(x, at, at + 1)}, {{"shape", shape}});
}

}  // namespace regrow
