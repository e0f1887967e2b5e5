// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/reduce.h"
#include "regrow/ops/reduce.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  infer_reduction(call);
  OutDesc& out = call.out[0];
  if (reduced_axes(call[0], call.attrs).empty() && out.dtype == call[0].dtype) {  // nothing to add: the input itself
    out.strides = call[0].strides;
    out.view_of = 0;
  }
}

void compute(const ComputeCall& call) {
  kernels::reduce(kernels::Fold::sum, call.in[0], reduced_axes(*call.in[0].desc, call.attrs), call.out[0]);
}

void gradient(Gradient& g) {
  Var grad = g.grad();
  if (g.out_desc(0).dtype != g.in_desc(0).dtype) grad = op<"cast">({grad}, {{"dtype", g.in_desc(0).dtype}});
  g.set(0, spread(g, grad));
}

}  // namespace

OpDef sum() {
  return {
      .doc =
          "Sum over the axes. Integers and bool give i64 or u64; f32 is added in f64, 16-bit floating types in f32, and "
          "rounded once. Over no axes, the input.",
      .inputs = {"x"},
      .attributes = accumulation_attributes(),
      .dtypes = widened_dtype,
      .infer = infer,
      .compute = compute,
      .gradient = gradient,
      .samples = {{.inputs = {{2, 3}}},
                  {.inputs = {{2, 3, 4}}, .attrs = {{"axis", Axes{0, -1}}, {"keepdims", true}}},
                  {.inputs = {{5, 40}}, .attrs = {{"axis", Axes{0}}}},
                  {.inputs = {{0, 3}}, .attrs = {{"axis", Axes{0}}}},
                  {.inputs = {{2, 3}}, .attrs = {{"axis", Axes::none()}}},
                  {.inputs = {{}}}},
  };
}

}  // namespace regrow::ops
