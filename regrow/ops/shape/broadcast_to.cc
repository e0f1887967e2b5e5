// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/shapes.h"
#include "regrow/ops/var.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  OutDesc& out = call.out[0];
  out.shape = call.attrs.get<Dims>("shape");
  out.strides = strides_broadcast_to(call[0], out.shape);
  out.view_of = 0;
}

}  // namespace

OpDef broadcast_to() {
  return {
      .doc =
          "x repeated along new leading axes and along its axes of length 1, to the given shape. A view: nothing is copied.",
      .inputs = {"x"},
      .attributes = {{.name = "shape", .type = AttrType::dims, .doc = "The shape of the result."}},
      .dtypes = keep_dtype,
      .infer = infer,
      .gradient = [](Gradient& g) { g.set(0, sum_to(g.grad(), g.in_desc(0).shape)); },
      .samples = {{.inputs = {{3, 1}}, .attrs = {{"shape", Dims{2, 3, 4}}}},
                  {.inputs = {{}}, .attrs = {{"shape", Dims{2, 2}}}},
                  {.inputs = {{2, 3}}, .attrs = {{"shape", Dims{2, 3}}}},
                  {.inputs = {{1, 3}}, .attrs = {{"shape", Dims{0, 3}}}}},
  };
}

}  // namespace regrow::ops
