// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/reduce.h"
#include "regrow/ops/reduce.h"
#include "regrow/ops/shapes.h"

namespace regrow::ops {
namespace {

void compute(const ComputeCall& call) {
  kernels::reduce(kernels::Fold::min, call.in[0], reduced_axes(*call.in[0].desc, call.attrs), call.out[0]);
}

}  // namespace

OpDef min() {
  return {
      .doc =
          "The smallest element over the axes; NaN if there is one. The gradient is shared equally by all elements that "
          "equal it.",
      .inputs = {"x"},
      .attributes = reduction_attributes(),
      .dtypes = keep_dtype,
      .infer = infer_reduction_of_something,
      .compute = compute,
      .gradient = extreme_gradient,
      .saves_inputs = 0b1,
      .saves_outputs = 0b1,
      .samples = {{.inputs = {{2, 3}}},
                  {.inputs = {{2, 3, 4}}, .attrs = {{"axis", Axes{0, -1}}, {"keepdims", true}}},
                  {.inputs = {{5, 40}}, .attrs = {{"axis", Axes{0}}}},
                  {.inputs = {{0, 3}}, .attrs = {{"axis", Axes{1}}}},
                  {.inputs = {{}}}},
  };
}

}  // namespace regrow::ops
