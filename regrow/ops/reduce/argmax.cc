// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/reduce.h"
#include "regrow/ops/reduce.h"

namespace regrow::ops {
namespace {

void compute(const ComputeCall& call) {
  kernels::arg_reduce(kernels::Fold::max, call.in[0], reduced_axes(*call.in[0].desc, call.attrs), call.out[0]);
}

}  // namespace

OpDef argmax() {
  return {
      .doc =
          "The index of the first largest element over the axes, or of the first NaN, as i64. Over several axes it counts "
          "row-major.",
      .inputs = {"x"},
      .attributes = reduction_attributes(),
      .dtypes = [](std::span<const DType>, const Attrs&, std::span<DType> out) { out[0] = DType::i64; },
      .infer = infer_reduction_of_something,
      .compute = compute,
      .samples = {{.inputs = {{2, 3}}},
                  {.inputs = {{2, 3, 4}}, .attrs = {{"axis", Axes{0, -1}}, {"keepdims", true}}},
                  {.inputs = {{5, 40}}, .attrs = {{"axis", Axes{0}}}},
                  {.inputs = {{0, 3}}, .attrs = {{"axis", Axes{1}}}},
                  {.inputs = {{}}}},
  };
}

}  // namespace regrow::ops
