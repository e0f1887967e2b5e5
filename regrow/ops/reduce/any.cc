// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/reduce.h"
#include "regrow/ops/reduce.h"

namespace regrow::ops {
namespace {

void compute(const ComputeCall& call) {
  kernels::reduce(kernels::Fold::any, call.in[0], reduced_axes(*call.in[0].desc, call.attrs), call.out[0]);
}

}  // namespace

OpDef any() {
  return {
      .doc = "Whether any element over the axes is not zero (NaN is not zero). Of none: false.",
      .inputs = {"x"},
      .attributes = reduction_attributes(),
      .dtypes = [](std::span<const DType>, const Attrs&, std::span<DType> out) { out[0] = DType::boolean; },
      .infer = infer_reduction,
      .compute = compute,
      .samples = {{.inputs = {{2, 3}}},
                  {.inputs = {{2, 3, 4}}, .attrs = {{"axis", Axes{0, -1}}, {"keepdims", true}}},
                  {.inputs = {{5, 40}}, .attrs = {{"axis", Axes{0}}}},
                  {.inputs = {{0, 3}}},
                  {.inputs = {{}}}},
  };
}

}  // namespace regrow::ops
