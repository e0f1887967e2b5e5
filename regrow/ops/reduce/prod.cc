// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/reduce.h"
#include "regrow/ops/reduce.h"

namespace regrow::ops {
namespace {

void compute(const ComputeCall& call) {
  kernels::reduce(kernels::Fold::prod, call.in[0], reduced_axes(*call.in[0].desc, call.attrs), call.out[0]);
}

Var part(Var x, std::int64_t from, std::int64_t to) {
  const Shape& shape = x.recorder->desc(x).shape;
  Dims start = Dims::filled(shape.size(), 0), stop = shape;
  start.back() = from, stop.back() = to;
  return op<"slice">({x}, {{"start", start}, {"stop", stop}, {"step", Dims::filled(shape.size(), 1)}});
}

Var joined(std::initializer_list<Var> parts) { return op<"concat">(parts, {{"axis", -1}}); }

// The gradient of the product over the last axis, of length n >= 1; `grad` has length 1 there. Halves are multiplied until one
// element is left, then the gradients go back down: no division, so that zeros are as good as any.
Var gradient_along_last(Var x, Var grad, std::int64_t n) {
  struct Level {
    Var left, right;
    std::int64_t half;
    bool odd;
  };
  std::vector<Level> levels;
  while (n > 1) {
    const std::int64_t half = n / 2;
    const Level level{part(x, 0, half), part(x, half, 2 * half), half, n % 2 != 0};
    const Var product = level.left * level.right;
    x = level.odd ? joined({product, part(x, 2 * half, n)}) : product;
    n = half + (level.odd ? 1 : 0);
    levels.push_back(level);
  }
  for (std::size_t k = levels.size(); k-- > 0;) {
    const Level& level = levels[k];
    const Var of_product = level.odd ? part(grad, 0, level.half) : grad;
    const Var left = of_product * level.right, right = of_product * level.left;
    grad = level.odd ? joined({left, right, part(grad, level.half, level.half + 1)}) : joined({left, right});
  }
  return grad;
}

void gradient(Gradient& g) {
  const Desc& x = g.in_desc(0);
  const Dims axes = reduced_axes(x, g.attrs());
  const DType wide = g.out_desc(0).dtype;
  const auto cast = [](Var v, DType dtype) {
    return v.recorder->desc(v).dtype == dtype ? v : op<"cast">({v}, {{"dtype", dtype}});
  };
  if (axes.empty()) return g.set(0, cast(g.grad(), x.dtype));
  if (x.count() == 0) return g.set(0, spread(g, cast(g.grad(), x.dtype)));

  // The reduced axes last, as one.
  Dims order;
  Shape flat, permuted;
  std::size_t next = 0;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    if (next < axes.size() && axes[next] == static_cast<std::int64_t>(i))
      ++next;
    else
      order.push_back(static_cast<std::int64_t>(i)), flat.push_back(x.shape[i]);
  }
  for (std::int64_t axis : axes) order.push_back(axis);
  for (std::int64_t axis : order) permuted.push_back(x.shape[static_cast<std::size_t>(axis)]);
  Dims inverse = order;
  for (std::size_t i = 0; i < order.size(); ++i) inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  flat.push_back(1);
  const Var grad = op<"reshape">({g.grad()}, {{"shape", flat}});
  flat.back() = reduced_count(x, axes);
  const Var moved = op<"permute_dims">({cast(g.in(0), wide)}, {{"axes", order}});
  const Var result = gradient_along_last(op<"reshape">({moved}, {{"shape", flat}}), grad, flat.back());
  const Var back = op<"permute_dims">({op<"reshape">({result}, {{"shape", permuted}})}, {{"axes", inverse}});
  g.set(0, cast(back, x.dtype));
}

}  // namespace

OpDef prod() {
  return {
      .doc =
          "Product over the axes. Integers and bool give i64 or u64; f32 is multiplied in f64, 16-bit floating types in "
          "f32, and rounded once. Of none: 1.",
      .inputs = {"x"},
      .attributes = accumulation_attributes(),
      .dtypes = widened_dtype,
      .infer = infer_reduction,
      .compute = compute,
      .gradient = gradient,
      .saves_inputs = 0b1,
      .samples = {{.inputs = {{2, 3}}},
                  {.inputs = {{2, 3, 4}}, .attrs = {{"axis", Axes{0, -1}}, {"keepdims", true}}},
                  {.inputs = {{5, 40}}, .attrs = {{"axis", Axes{0}}}},
                  {.inputs = {{0, 3}}, .attrs = {{"axis", Axes{0}}}},
                  {.inputs = {{}}}},
  };
}

}  // namespace regrow::ops
