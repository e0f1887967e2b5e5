// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/indexing.h"
#include "regrow/ops/shapes.h"
#include "regrow/ops/var.h"
#include "regrow/tensor/format.h"
#include "regrow/tensor/visit.h"
#include "regrow/tensor/walk.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  const Desc &x = call[0], &indices = call[1], &updates = call[2];
  require_matching_axes(x, indices, axis_of(x, call.attrs));
  require(updates.shape == indices.shape, "the updates have shape {}, not {}", updates.shape, indices.shape);
  infer_like(x, call.out[0]);
}

void add(const ComputeCall& call, const ScatterTarget& target) {
  const View &indices = call.in[1], &updates = call.in[2];
  const std::size_t axis = axis_of(*target.sum.desc, call.attrs);
  resolve_indices(indices, target.sum.shape()[axis], "scatter_add_along_axis", axis, target.indices);
  Strides across = target.sum.strides();
  const std::int64_t step = across[axis];
  across[axis] = 0;
  const auto add_as = [&]<class A, class T>(Type<A>, Type<T>) {
    const T* from = updates.as<const T>();
    A* to = target.sum.as<A>();
    const std::int64_t* index = target.indices;
    walk<2>(updates.shape(), {updates.strides(), across},
            [&](std::int64_t a, std::int64_t b) { add_elements(from + a, 0, to + b + *index++ * step, 0, 1); });
  };
  visit_type(updates.dtype(), [&]<class T>(Type<T> type) {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      add_as(Type<float>{}, type);
    else if constexpr (!std::is_same_v<T, bool>)
      add_as(type, type);
  });
}

}  // namespace

OpDef scatter_add_along_axis() {
  return {
      .doc =
          "x with each element of `updates` added where take_along_axis would read it. Repeated places add up, in row-major "
          "order; 16-bit "
          "floating types are added in f32 and rounded once.",
      .inputs = {"x", "indices", "updates"},
      .attributes = {axis_attr(-1)},
      .dtypes = check_scatter_dtypes,
      .infer = infer,
      .compute = [](const ComputeCall& call) { scatter(call, resolved_bytes(*call.in[1].desc), add); },
      .workspace = [](const CostCall& call) { return scatter_workspace(*call.in[0], resolved_bytes(*call.in[1])); },
      .fails_by_value = true,
      .gradient =
          [](Gradient& g) {
            if (g.wants(0)) g.set(0, g.grad());
            if (g.wants(2)) g.set(2, op<"take_along_axis">({g.grad(), g.in(1)}, {{"axis", g.attrs().value("axis")}}));
          },
      .saves_inputs = 0b10,
      .samples = {{.inputs = {{3, 4}, {3, 2}, {3, 2}}, .dtypes = {DType::f64, DType::i64, DType::f64}, .low = -3, .high = 3},
                  {.inputs = {{3, 4, 2}, {5, 4, 2}, {5, 4, 2}},
                   .attrs = {{"axis", 0}},
                   .dtypes = {DType::f16, DType::i32, DType::f16},
                   .low = -3,
                   .high = 2}},
  };
}

}  // namespace regrow::ops
