// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/copy.h"
#include "regrow/ops/shapes.h"
#include "regrow/ops/var.h"
#include "regrow/tensor/format.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  require(!call.in.empty(), "there is nothing to join");
  const Desc& first = call[0];
  const std::size_t axis = axis_of(first, call.attrs);
  OutDesc& out = call.out[0];
  out.shape = first.shape;
  for (std::size_t i = 1; i < call.in.size(); ++i) {
    Shape shape = call[i].shape;
    const bool same_rank = shape.size() == first.shape.size();
    if (same_rank) out.shape[axis] += shape[axis], shape[axis] = first.shape[axis];
    require(shape == first.shape, "shapes {} and {} differ beside axis {}", first.shape, call[i].shape, axis);
  }
  out.strides = dense_strides_like(out.shape, first.shape, first.strides);
}

void compute(const ComputeCall& call) {
  const View& out = call.out[0];
  const std::size_t axis = axis_of(*out.desc, call.attrs);
  std::int64_t at = 0;
  for (const View& x : call.in) {
    Desc part = *x.desc;
    part.strides = out.strides();
    kernels::copy(x, {&part, out.data + at * out.strides()[axis] * static_cast<std::int64_t>(size_of(out.dtype()))});
    at += x.shape()[axis];
  }
}

void gradient(Gradient& g) {
  const Shape& shape = g.out_desc(0).shape;
  const std::size_t axis = axis_of(g.out_desc(0), g.attrs());
  Dims start = Dims::filled(shape.size(), 0), stop = shape;
  const Dims step = Dims::filled(shape.size(), 1);
  for (std::size_t i = 0; i < g.input_count(); ++i) {
    stop[axis] = start[axis] + g.in_desc(i).shape[axis];
    if (g.wants(i)) g.set(i, op<"slice">({g.grad()}, {{"start", start}, {"stop", stop}, {"step", step}}));
    start[axis] = stop[axis];
  }
}

}  // namespace

OpDef concat() {
  return {
      .doc = "The inputs joined along an axis, in the axis order of the first one's memory.",
      .inputs = {"xs..."},
      .attributes = {axis_attr(0)},
      .dtypes = common_dtype,
      .infer = infer,
      .compute = compute,
      .gradient = gradient,
      .samples = {{.inputs = {{2, 3}, {1, 3}, {0, 3}}},
                  {.inputs = {{2, 3, 4}, {2, 2, 4}}, .attrs = {{"axis", -2}}},
                  {.inputs = {{3}}}},
  };
}

}  // namespace regrow::ops
