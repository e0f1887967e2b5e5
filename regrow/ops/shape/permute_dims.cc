// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/shapes.h"
#include "regrow/ops/var.h"
#include "regrow/tensor/format.h"

namespace regrow::ops {
namespace {

// The axes, each in [0, rank) and there once.
Dims permutation(const Attrs& attrs, int rank) {
  const Dims& axes = attrs.get<Dims>("axes");
  require(axes.rank() == rank, "axes {} do not name each of {} axes once", axes, rank);
  (void)Axes(axes).resolve(rank);  // throws on an axis out of range or named twice
  Dims resolved = axes;
  for (std::int64_t& axis : resolved) axis = resolve_axis(axis, rank);
  return resolved;
}

void infer(const InferCall& call) {
  const Desc& x = call[0];
  OutDesc& out = call.out[0];
  for (std::int64_t axis : permutation(call.attrs, x.shape.rank())) {
    out.shape.push_back(x.shape[static_cast<std::size_t>(axis)]);
    out.strides.push_back(x.strides[static_cast<std::size_t>(axis)]);
  }
  out.view_of = 0;
}

void gradient(Gradient& g) {
  const Dims axes = permutation(g.attrs(), g.in_desc(0).shape.rank());
  Dims inverse = axes;
  for (std::size_t i = 0; i < axes.size(); ++i) inverse[static_cast<std::size_t>(axes[i])] = static_cast<std::int64_t>(i);
  g.set(0, op<"permute_dims">({g.grad()}, {{"axes", inverse}}));
}

}  // namespace

OpDef permute_dims() {
  return {
      .doc = "x with its axes in another order: axis i of the result is axis axes[i] of x. A view: nothing is copied.",
      .inputs = {"x"},
      .attributes = {{.name = "axes", .type = AttrType::dims, .doc = "Every axis of x once; negative ones count from the end."}},
      .dtypes = keep_dtype,
      .infer = infer,
      .gradient = gradient,
      .samples = {{.inputs = {{2, 3, 4}}, .attrs = {{"axes", Dims{2, 0, 1}}}},
                  {.inputs = {{2, 3}}, .attrs = {{"axes", Dims{-1, 0}}}},
                  {.inputs = {{}}, .attrs = {{"axes", Dims{}}}}},
  };
}

}  // namespace regrow::ops
