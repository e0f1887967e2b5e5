// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/normalization.h"

#include "regrow/tensor/format.h"

namespace regrow {
namespace {

Var plus(Var a, Var b) { return !a ? b : !b ? a : a + b; }

Var reshaped(Var x, const Shape& shape) { return op<"reshape">({x}, {{"shape", shape}}); }

}  // namespace

AttrSpec epsilon_attribute() {
  return {.name = "epsilon", .type = AttrType::real, .fallback = 1e-5, .doc = "Added to the variance under the root."};
}

double epsilon_of(const Attrs& attrs) {
  const double epsilon = attrs.get<double>("epsilon");
  require(epsilon >= 0, "epsilon must be at least 0, not {}", epsilon);
  return epsilon;
}

std::vector<AttrSpec> group_attributes() {
  return {{.name = "groups", .type = AttrType::integer, .doc = "Slices of the channels, of equal size."}, epsilon_attribute()};
}

std::int64_t group_count(const Attrs& attrs, const Desc& x) {
  const std::int64_t groups = attrs.get<std::int64_t>("groups");
  require(groups >= 1 && x.shape[1] % groups == 0, "{} channels do not fall into {} groups: {}", x.shape[1], groups, x.shape);
  return groups;
}

void normalized_dtype(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  for (DType dtype : in) require(is_floating(dtype), "needs floating types, not {}", name_of(dtype));
  if (in.size() == 3) require(in[1] == in[2], "weight and bias are of one type, not {} and {}", name_of(in[1]), name_of(in[2]));
  out[0] = in[0];
}

void normalized_gradient_dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  for (DType dtype : in) require(is_floating(dtype), "needs floating types, not {}", name_of(dtype));
  require(in[0] == in[1], "the gradient has the type of x, {}, not {}", name_of(in[1]), name_of(in[0]));
  out[0] = in[1];
  for (std::size_t k = 1; k < out.size(); ++k) out[k] = in[2];
}

void describe_like(const InferCall& call, std::size_t like, std::size_t out) {
  const Desc& desc = call[like];
  call.out[out].shape = desc.shape;
  call.out[out].strides = dense_strides_like(desc.shape, desc.shape, desc.strides);
}

void infer_channel_norm(const InferCall& call, std::size_t x, std::size_t first_table) {
  (void)epsilon_of(call.attrs);
  const Shape& shape = call[x].shape;
  require(shape.size() >= 2, "needs x (N, C, ...), not {}", shape);
  for (std::size_t i = first_table; i < call.in.size(); ++i)
    require(call[i].shape == Shape{shape[1]}, "x of {} has {} channels, but its table the shape {}", shape, shape[1],
            call[i].shape);
  describe_like(call, x);
}

void infer_row_norm(const InferCall& call, std::size_t x, std::size_t first_table) {
  (void)epsilon_of(call.attrs);
  const Shape &shape = call[x].shape, &table = call[first_table].shape;
  bool fits = !table.empty() && table.size() <= shape.size();
  for (std::size_t i = 0; fits && i < table.size(); ++i) fits = table[i] == shape[shape.size() - table.size() + i];
  require(fits, "the weight has not the shape of the last axes of x: {} and {}", table, shape);
  for (std::size_t i = first_table + 1; i < call.in.size(); ++i)
    require(call[i].shape == table, "weight and bias differ in shape: {} and {}", table, call[i].shape);
  describe_like(call, x);
}

Cost normalization_cost(const CostCall& call) {
  Cost cost;
  for (std::span<const Desc* const> descs : {call.in, call.out})
    for (const Desc* desc : descs) {
      cost.flops += 4 * static_cast<double>(desc->count());
      cost.bytes += static_cast<double>(desc->count()) * static_cast<double>(size_of(desc->dtype));
    }
  return cost;
}

Var cast_to(Var x, DType dtype) { return x.recorder->desc(x).dtype == dtype ? x : op<"cast">({x}, {{"dtype", dtype}}); }

Var filled(Recorder& recorder, double value, const Desc& like, Var device_of) {
  return op<"broadcast_to">({recorder.constant(value, like.dtype, device_of)}, {{"shape", like.shape}});
}

Var as_channels(Var table, const Desc& x) {
  Shape shape = Shape::filled(x.shape.size(), 1);
  shape[1] = x.shape[1];
  return reshaped(cast_to(table, x.dtype), shape);
}

Var sum_of_channels(Var x, const Desc& table) {
  Dims axes;
  for (int i = 0; i < x.recorder->desc(x).shape.rank(); ++i)
    if (i != 1) axes.push_back(i);
  return cast_to(op<"sum">({x}, {{"axis", Axes(axes)}}), table.dtype);
}

// With r the factor, y the normalized x, h = grad weight, P the projection of `project` = r P, and u, p, q what flows back to the
// three outputs: L = sum u r P h + sum p grad y + sum q grad. As r P is its own adjoint, dL/dh = r P u; and by x, through y,
// -r (u mean(h y) + h mean(u y)) + p grad, through r, -r y mean(u r P h).
void normalization_second_gradient(Gradient& g, const Normalization& n) {
  const bool has_u = g.has_grad(0), has_p = g.has_grad(1), has_q = g.op().record().outputs.size() > 2 && g.has_grad(2);
  const Var grad = g.in(0), weight = n.spread(g.in(2));
  const Var u = has_u ? g.grad(0) : Var{}, p = has_p ? n.spread(g.grad(1)) : Var{};
  const Var projected = has_u ? n.project(u) : Var{};
  if (g.wants(0)) {
    Var flow = has_u ? weight * projected : Var{};
    if (has_p) flow = plus(flow, p * n.normalized);
    if (has_q) flow = plus(flow, n.spread(g.grad(2)));
    if (flow) g.set(0, op<"broadcast_to">({flow}, {{"shape", g.in_desc(0).shape}}));
  }
  if (g.wants(1)) {
    Var through = has_p ? p * grad : Var{}, direct;
    if (has_u) {
      const Var h = grad * weight;
      const Var mixed = u * n.mean(h * n.normalized) + h * n.mean(u * n.normalized);
      through = plus(through, -(n.factor * mixed));
      direct = -(n.factor * n.normalized * n.mean(u * n.project(h)));
    }
    if (through) g.set(1, plus(n.project(through), direct));
  }
  if (g.wants(2) && has_u) g.set(2, n.gather(grad * projected));
}

}  // namespace regrow
