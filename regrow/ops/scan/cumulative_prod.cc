// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"
#include "regrow/ops/scan.h"

namespace regrow::ops {
namespace {

// Elements [from, to) along an axis; with `step` -1, all of them backwards.
Var part(Var x, std::size_t axis, std::int64_t from, std::int64_t to, std::int64_t step = 1) {
  const Shape& shape = x.recorder->desc(x).shape;
  Dims start = Dims::filled(shape.size(), 0), stop = shape, steps = Dims::filled(shape.size(), 1);
  start[axis] = from, stop[axis] = to, steps[axis] = step;
  return op<"slice">({x}, {{"start", start}, {"stop", stop}, {"step", steps}});
}

Var joined(Var a, Var b, std::size_t axis) { return op<"concat">({a, b}, {{"axis", static_cast<std::int64_t>(axis)}}); }

// r[k] = b[k] + a[k] r[k + 1], for b of length n and a of length n - 1, in log2(n) steps: after a step of distance d, a[k] leads
// from k to k + 2 d. No division, so that zeros are as good as any.
Var recurrence(Var a, Var b, std::size_t axis, std::int64_t n) {
  for (std::int64_t d = 1; d < n; d *= 2) {
    b = joined(part(b, axis, 0, n - d) + a * part(b, axis, d, n), part(b, axis, n - d, n), axis);
    if (n > 2 * d) a = part(a, axis, 0, n - 2 * d) * part(a, axis, d, n - d);
  }
  return b;
}

// y[k] = y[k - 1] x[k]: what flows into y[k] is r[k] = g[k] + x[k + 1] r[k + 1], into x[k] it is y[k - 1] r[k].
void gradient(Gradient& g) {
  const std::size_t axis = axis_of(g.in_desc(0), g.attrs());
  const std::int64_t n = g.in_desc(0).shape[axis];
  const DType wide = g.out_desc(0).dtype;
  const bool reverse = g.attrs().get<bool>("reverse") && n > 0;
  const auto ordered = [&](Var v) { return reverse ? part(v, axis, n - 1, -1, -1) : v; };
  Var x = ordered(g.in(0)), result = ordered(g.grad());
  if (g.in_desc(0).dtype != wide) x = op<"cast">({x}, {{"dtype", wide}});
  if (n > 1) {
    result = recurrence(part(x, axis, 1, n), result, axis, n);
    const Var before = part(ordered(g.out()), axis, 0, n - 1);
    result = joined(part(result, axis, 0, 1), before * part(result, axis, 1, n), axis);
  }
  elementwise::give(g, 0, ordered(result));
}

}  // namespace

OpDef cumulative_prod() {
  OpDef def = scanning::accumulation(
      "The product of the elements so far along an axis. Integers and bool give i64 or u64; f32 is multiplied in f64, 16-bit "
      "floating types in f32, and each product is rounded once.",
      [](const ComputeCall& call) { scanning::compute(kernels::Fold::prod, call); });
  def.gradient = gradient;
  def.saves_inputs = 0b1;
  def.saves_outputs = 0b1;
  return def;
}

}  // namespace regrow::ops
