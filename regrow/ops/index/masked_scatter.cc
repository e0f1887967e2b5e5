// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/indexing.h"
#include "regrow/ops/var.h"
#include "regrow/tensor/visit.h"
#include "regrow/tensor/walk.h"
#include "regrow/tensor/format.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  require(in[1] == DType::boolean, "a mask is of bool, not {}", name_of(in[1]));
  require(in[2] == in[0], "the values are {}, not {}", name_of(in[2]), name_of(in[0]));
  out[0] = in[0];
}

void infer(const InferCall& call) {
  const Desc &x = call[0], &mask = call[1], &values = call[2];
  require_mask_fits(x, mask);
  Shape part;
  for (std::size_t i = mask.shape.size(); i < x.shape.size(); ++i) part.push_back(x.shape[i]);
  Shape part_of_values = values.shape;
  if (!part_of_values.empty()) part_of_values.erase(0);
  require(!values.shape.empty() && part_of_values == part, "values of shape {} are not a list of parts of shape {}",
          values.shape, part);
  call.out[0].shape = x.shape;
  call.out[0].strides = dense_strides_like(x.shape, x.shape, x.strides);
}

void compute(const ComputeCall& call) {
  const View &x = call.in[0], &mask = call.in[1], &values = call.in[2], &out = call.out[0];
  const std::int64_t count = count_true(mask), given = values.shape()[0];
  if (count != given) fail_at(Site{}, "masked_scatter: the mask is true {} times, but there are {} values", count, given);
  kernels::copy(x, out);
  if (values.count() == 0) return;
  const MaskedParts parts(*out.desc, mask.shape().size());
  Strides value_strides = values.strides();
  value_strides.erase(0);
  const kernels::CopyPlan plan = kernels::plan_copy(parts.rest, value_strides, parts.rest_strides);
  const bool* flags = mask.as<const bool>();
  visit_unit(x.dtype(), [&]<class Unit>(Type<Unit>) {
    const Unit* from = values.as<const Unit>();
    walk<2>(mask.shape(), {mask.strides(), parts.mask_strides}, [&](std::int64_t flag, std::int64_t at) {
      if (!flags[flag]) return;
      kernels::run_copy(plan, from, out.as<Unit>() + at);
      from += values.strides()[0];
    });
  });
}

void gradient(Gradient& g) {
  const Var values = op<"masked_select">(g.grad(), g.in(1));
  if (g.wants(2)) g.set(2, values);
  if (!g.wants(0)) return;
  const Var zero = g.recorder().constant(0, g.in_desc(0).dtype, g.grad());
  const Var zeros = op<"broadcast_to">({zero}, {{"shape", g.in_desc(2).shape}});
  g.set(0, op<"masked_scatter">(g.grad(), g.in(1), zeros));
}

}  // namespace

OpDef masked_scatter() {
  return {
      .doc =
          "x with the parts where the mask is true replaced by `values`, one after another in row-major order. It is an "
          "error, when the operation runs, if there are not as many values as places.",
      .inputs = {"x", "mask", "values"},
      .dtypes = dtypes,
      .infer = infer,
      .compute = compute,
      .fails_by_value = true,
      .gradient = gradient,
      .saves_inputs = 0b10,
      .samples = {{.inputs = {{3, 2}, {3}, {3, 2}}, .dtypes = {DType::f64, DType::boolean, DType::f64}, .low = 1, .high = 2},
                  {.inputs = {{2, 2}, {2, 2}, {4}}, .dtypes = {DType::f64, DType::boolean, DType::f64}, .low = 1, .high = 2}},
  };
}

}  // namespace regrow::ops
