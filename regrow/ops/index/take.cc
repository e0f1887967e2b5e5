// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/copy.h"
#include "regrow/ops/indexing.h"
#include "regrow/ops/var.h"
#include "regrow/tensor/visit.h"
#include "regrow/tensor/walk.h"

namespace regrow::ops {
namespace {

std::size_t axis_of(const Attrs& attrs, const Desc& x) {
  return static_cast<std::size_t>(resolve_axis(attrs.get<std::int64_t>("axis"), x.shape.rank()));
}

void dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  require_index_type(in[1]);
  out[0] = in[0];
}

// Another order of axes stays if the result has as many.
void infer(const InferCall& call) {
  const Desc &x = call[0], &indices = call[1];
  const std::size_t axis = axis_of(call.attrs, x);
  OutDesc& out = call.out[0];
  for (std::size_t i = 0; i < axis; ++i) out.shape.push_back(x.shape[i]);
  for (std::int64_t size : indices.shape) out.shape.push_back(size);
  for (std::size_t i = axis + 1; i < x.shape.size(); ++i) out.shape.push_back(x.shape[i]);
  out.strides = indices.shape.size() == 1 ? dense_strides_like(out.shape, x.shape, x.strides) : contiguous_strides(out.shape);
}

void compute(const ComputeCall& call) {
  const View &x = call.in[0], &indices = call.in[1], &out = call.out[0];
  const std::size_t axis = axis_of(call.attrs, *x.desc);
  auto* resolved = reinterpret_cast<std::int64_t*>(call.workspace.data());
  const Along source = along(*x.desc, axis);
  resolve_indices(indices, source.size, "take", axis, resolved);
  Desc target = *out.desc;
  Strides index_strides;
  for (std::size_t i = 0; i < indices.shape().size(); ++i) {
    index_strides.push_back(target.strides[axis]);
    target.shape.erase(axis), target.strides.erase(axis);
  }
  if (out.count() == 0) return;
  const kernels::CopyPlan plan = kernels::plan_copy(source.rest.shape, source.rest.strides, target.strides);
  visit_unit(x.dtype(), [&]<class Unit>(Type<Unit>) {
    walk<1>(indices.shape(), {index_strides}, [&](std::int64_t at) {
      kernels::run_copy(plan, x.as<const Unit>() + *resolved++ * source.step, out.as<Unit>() + at);
    });
  });
}

void gradient(Gradient& g) {
  const Var zero = g.recorder().constant(0, g.in_desc(0).dtype, g.grad());
  const Var zeros = op<"broadcast_to">({zero}, {{"shape", g.in_desc(0).shape}});
  g.set(0, op<"scatter_add">({zeros, g.in(1), g.grad()}, {{"axis", g.attrs().value("axis")}}));
}

}  // namespace

OpDef take() {
  return {
      .doc =
          "The parts of x at these indices along an axis; the shape of the indices takes the place of the axis. Negative "
          "indices count from the end; one out of range is an error when the operation runs.",
      .inputs = {"x", "indices"},
      .attributes =
          {{.name = "axis", .type = AttrType::integer, .fallback = std::int64_t{0}, .doc = "The axis; may be negative."}},
      .dtypes = dtypes,
      .infer = infer,
      .compute = compute,
      .workspace = [](const CostCall& call) { return resolved_bytes(*call.in[1]); },
      .fails_by_value = true,
      .gradient = gradient,
      .saves_inputs = 0b10,
      .samples =
          {{.inputs = {{3, 4}, {5}}, .dtypes = {DType::f64, DType::i64}, .low = -3, .high = 2},
           {.inputs = {{2, 3, 2}, {2, 2}}, .attrs = {{"axis", -2}}, .dtypes = {DType::f64, DType::i32}, .low = -3, .high = 2},
           {.inputs = {{3}, {}}, .dtypes = {DType::f64, DType::u8}, .low = 0, .high = 2},
           {.inputs = {{3, 0}, {2}}, .dtypes = {DType::f64, DType::i64}, .low = 0, .high = 2}},
  };
}

}  // namespace regrow::ops
