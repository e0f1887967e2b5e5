// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "regrow/kernels/reduce.h"
#include "regrow/ops/reduce.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) { out[0] = is_floating(in[0]) ? in[0] : DType::f32; }

void compute(const ComputeCall& call) {
  const Dims axes = reduced_axes(*call.in[0].desc, call.attrs);
  const std::int64_t count = reduced_count(*call.in[0].desc, axes);
  kernels::reduce(kernels::Fold::sum, call.in[0], axes, call.out[0], static_cast<double>(count));
}

void gradient(Gradient& g) {
  const std::int64_t count = reduced_count(g.in_desc(0), reduced_axes(g.in_desc(0), g.attrs()));
  const Var divisor = g.recorder().constant(static_cast<double>(std::max<std::int64_t>(count, 1)), g.in_desc(0).dtype, g.grad());
  g.set(0, spread(g, g.grad() / divisor));
}

}  // namespace

OpDef mean() {
  return {
      .doc =
          "Arithmetic mean over the axes. f32 and integers are added in f64, 16-bit floating types in f32, and rounded "
          "once, after the division. Integers and bool give f32. The mean of nothing is NaN.",
      .inputs = {"x"},
      .attributes = reduction_attributes(),
      .dtypes = dtypes,
      .infer = infer_reduction,
      .compute = compute,
      .gradient = gradient,
      .samples = {{.inputs = {{2, 3}}},
                  {.inputs = {{2, 3, 4}}, .attrs = {{"axis", Axes{0, -1}}, {"keepdims", true}}},
                  {.inputs = {{5, 40}}, .attrs = {{"axis", Axes{0}}}},
                  {.inputs = {{0, 3}}, .attrs = {{"axis", Axes{0}}}},
                  {.inputs = {{}}}},
  };
}

}  // namespace regrow::ops
