// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/region.h"
#include "regrow/ops/shapes.h"
#include "regrow/ops/var.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  const Region region = region_of(call[0], call.attrs);
  OutDesc& out = call.out[0];
  out.shape = region.shape;
  out.strides = region.strides;
  out.view_of = 0;
  out.view_offset = region.offset;
}

// Zeros of the input's shape, with the gradient in the place of the slice.
void gradient(Gradient& g) {
  const Var zero = g.recorder().constant(0, g.in_desc(0).dtype, g.grad());
  const Var zeros = op<"broadcast_to">({zero}, {{"shape", g.in_desc(0).shape}});
  g.set(0, op<"set_slice">({zeros, g.grad()}, {{"start", g.attrs().value("start")},
                                               {"stop", g.attrs().value("stop")},
                                               {"step", g.attrs().value("step")},
                                               {"squeeze", g.attrs().value("squeeze")}}));
}

}  // namespace

OpDef slice() {
  return {
      .doc = "The elements of x at regular steps along each axis (basic indexing, resolved). A view: nothing is copied.",
      .inputs = {"x"},
      .attributes = region_attributes(),
      .dtypes = keep_dtype,
      .infer = infer,
      .gradient = gradient,
      .samples = {{.inputs = {{5, 4}}, .attrs = {{"start", Dims{1, 3}}, {"stop", Dims{5, -1}}, {"step", Dims{2, -1}}}},
                  {.inputs = {{3, 4}},
                   .attrs = {{"start", Dims{2, 0}}, {"stop", Dims{3, 4}}, {"step", Dims{1, 3}}, {"squeeze", Dims{0}}}},
                  {.inputs = {{3}}, .attrs = {{"start", Dims{2}}, {"stop", Dims{1}}, {"step", Dims{1}}}},
                  {.inputs = {{}}, .attrs = {{"start", Dims{}}, {"stop", Dims{}}, {"step", Dims{}}}}},
  };
}

}  // namespace regrow::ops
