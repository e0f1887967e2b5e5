// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType>, const Attrs& attrs, std::span<DType> out) { out[0] = attrs.get<DType>("dtype"); }

kernels::TileKernel tile(std::span<const DType> in, const Attrs& attrs) {
  return kernels::convert(in[0], attrs.get<DType>("dtype"));
}

void gradient(Gradient& g) {
  if (is_floating(g.out_desc(0).dtype)) elementwise::give(g, 0, g.grad());
}

}  // namespace

OpDef cast() {
  return {.doc =
              "x with elements of another type. Floating numbers become integers toward zero, at most the nearest end of their "
              "range, NaN becomes 0; integers wrap; whatever is not 0 is true.",
          .inputs = {"x"},
          .attributes = {{.name = "dtype", .type = AttrType::dtype, .doc = "The new type."}},
          .dtypes = dtypes,
          .infer = elementwise::infer,
          .tile = tile,
          .gradient = gradient,
          .samples = {{.inputs = {{2, 3}}, .attrs = {{"dtype", DType::f64}}},
                      {.inputs = {{2, 3}}, .attrs = {{"dtype", DType::i32}}, .low = 0},
                      {.inputs = {Shape{}}, .attrs = {{"dtype", DType::boolean}}}}};
}

}  // namespace regrow::ops
