// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/indexing.h"
#include "regrow/ops/var.h"
#include "regrow/tensor/visit.h"
#include "regrow/tensor/walk.h"
#include "regrow/tensor/format.h"

namespace regrow::ops {
namespace {

std::size_t axis_of(const Attrs& attrs, const Desc& x) {
  return static_cast<std::size_t>(resolve_axis(attrs.get<std::int64_t>("axis"), x.shape.rank()));
}

void infer(const InferCall& call) {
  const Desc &x = call[0], &indices = call[1], &updates = call[2];
  const std::size_t axis = axis_of(call.attrs, x);
  Shape wanted;
  for (std::size_t i = 0; i < axis; ++i) wanted.push_back(x.shape[i]);
  for (std::int64_t size : indices.shape) wanted.push_back(size);
  for (std::size_t i = axis + 1; i < x.shape.size(); ++i) wanted.push_back(x.shape[i]);
  require(updates.shape == wanted, "the updates have shape {}, not {}", updates.shape, wanted);
  call.out[0].shape = x.shape;
  call.out[0].strides = dense_strides_like(x.shape, x.shape, x.strides);
}

template <class A, class T>
void add_parts(const ScatterTarget& target, const View& indices, const View& updates, std::size_t axis) {
  const Along sum = along(*target.sum.desc, axis);
  Desc part = *updates.desc;
  Strides index_strides;
  for (std::size_t i = 0; i < indices.shape().size(); ++i) {
    index_strides.push_back(part.strides[axis]);
    part.shape.erase(axis), part.strides.erase(axis);
  }
  kernels::CopyPlan plan = kernels::plan_copy(sum.rest.shape, part.strides, sum.rest.strides);
  const std::size_t last = plan.shape.size() - 1;
  const std::int64_t n = plan.shape[last], from_step = plan.from[last], to_step = plan.to[last];
  plan.shape.erase(last), plan.from.erase(last), plan.to.erase(last);
  const std::int64_t* index = target.indices;
  walk<1>(indices.shape(), {index_strides}, [&](std::int64_t at) {
    const T* from = updates.as<const T>() + at;
    A* to = target.sum.as<A>() + *index++ * sum.step;
    walk<2>(plan.shape, {plan.from, plan.to},
            [&](std::int64_t a, std::int64_t b) { add_elements(from + a, from_step, to + b, to_step, n); });
  });
}

void add(const ComputeCall& call, const ScatterTarget& target) {
  const View &indices = call.in[1], &updates = call.in[2];
  const std::size_t axis = axis_of(call.attrs, *target.sum.desc);
  resolve_indices(indices, target.sum.shape()[axis], "scatter_add", axis, target.indices);
  if (updates.count() == 0) return;
  visit_type(updates.dtype(), [&]<class T>(Type<T>) {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      add_parts<float, T>(target, indices, updates, axis);
    else if constexpr (!std::is_same_v<T, bool>)
      add_parts<T, T>(target, indices, updates, axis);
  });
}

}  // namespace

OpDef scatter_add() {
  return {
      .doc =
          "x with parts of `updates` added at these indices along an axis: what take would read there. Repeated indices add "
          "up, in the order of the indices; 16-bit floating types are added in f32 and rounded once.",
      .inputs = {"x", "indices", "updates"},
      .attributes =
          {{.name = "axis", .type = AttrType::integer, .fallback = std::int64_t{0}, .doc = "The axis; may be negative."}},
      .dtypes = check_scatter_dtypes,
      .infer = infer,
      .compute = [](const ComputeCall& call) { scatter(call, add); },
      .workspace = scatter_workspace,
      .fails_by_value = true,
      .gradient =
          [](Gradient& g) {
            if (g.wants(0)) g.set(0, g.grad());
            if (g.wants(2)) g.set(2, op<"take">({g.grad(), g.in(1)}, {{"axis", g.attrs().value("axis")}}));
          },
      .saves_inputs = 0b10,
      .samples = {{.inputs = {{3, 4}, {5}, {5, 4}}, .dtypes = {DType::f64, DType::i64, DType::f64}, .low = -3, .high = 2},
                  {.inputs = {{2, 3, 2}, {2, 2}, {2, 2, 2, 2}},
                   .attrs = {{"axis", -2}},
                   .dtypes = {DType::bf16, DType::i32, DType::bf16},
                   .low = -3,
                   .high = 2},
                  {.inputs = {{3}, {}, {}}, .dtypes = {DType::i16, DType::u8, DType::i16}, .low = 0, .high = 2}},
  };
}

}  // namespace regrow::ops
