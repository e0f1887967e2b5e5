// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) { out[0] = promote(in[1], in[2]); }

kernels::TileKernel tile(std::span<const DType> in, const Attrs&) { return kernels::select(promote(in[1], in[2])); }

void gradient(Gradient& g) {
  const Var zero = g.recorder().constant(0, g.recorder().desc(g.grad()).dtype, g.grad());
  if (g.wants(1)) elementwise::give(g, 1, op<"where">(g.in(0), g.grad(), zero));
  if (g.wants(2)) elementwise::give(g, 2, op<"where">(g.in(0), zero, g.grad()));
}

}  // namespace

OpDef where() {
  return {.doc = "a where condition holds (is other than zero), b elsewhere.",
          .inputs = {"condition", "a", "b"},
          .dtypes = dtypes,
          .infer = elementwise::infer,
          .tile = tile,
          .gradient = gradient,
          .saves_inputs = 0b1,
          .samples = {{.inputs = {{2, 3}, {2, 3}, {2, 3}}},
                      {.inputs = {{3}, {2, 3}, Shape{}}},
                      {.inputs = {{2, 1}, {1, 3}, {2, 3}}},
                      {.inputs = {{0, 3}, {3}, {0, 3}}}}};
}

}  // namespace regrow::ops
