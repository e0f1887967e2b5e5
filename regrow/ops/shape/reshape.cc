// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/copy.h"
#include "regrow/ops/shapes.h"
#include "regrow/ops/var.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  const Desc& x = call[0];
  OutDesc& out = call.out[0];
  out.shape = filled_shape(call.attrs.get<Dims>("shape"), x.count());
  if (reshape_strides(x.shape, x.strides, out.shape, out.strides))
    out.view_of = 0;
  else
    out.strides = contiguous_strides(out.shape);
}

// Only where no view can express it: the elements row-major, under the input's shape.
void compute(const ComputeCall& call) {
  const Desc row_major = Desc::dense(call.in[0].dtype(), call.in[0].shape());
  kernels::copy(call.in[0], {&row_major, call.out[0].data});
}

}  // namespace

OpDef reshape() {
  return {
      .doc =
          "The elements of x, row-major, under another shape: a view where strides can express it, otherwise a copy. One "
          "size may be -1 and follows from the others.",
      .inputs = {"x"},
      .attributes = {{.name = "shape", .type = AttrType::dims, .doc = "The new shape."}},
      .dtypes = keep_dtype,
      .infer = infer,
      .compute = compute,
      .gradient =
          [](Gradient& g) {
            g.set(0, op<"reshape">({g.grad()}, {{"shape", g.in_desc(0).shape}}));
          },
      .samples = {{.inputs = {{3, 4}}, .attrs = {{"shape", Dims{2, -1}}}},
                  {.inputs = {{2, 3, 4}}, .attrs = {{"shape", Dims{4, 1, 6}}}},
                  {.inputs = {{1}}, .attrs = {{"shape", Dims{}}}},
                  {.inputs = {{0, 3}}, .attrs = {{"shape", Dims{3, 0}}}}},
  };
}

}  // namespace regrow::ops
