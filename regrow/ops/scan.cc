// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/scan.h"

#include "regrow/kernels/convert.h"
#include "regrow/ops/indexing.h"
#include "regrow/ops/reduce.h"

namespace regrow::scanning {
namespace {

// Of each element the place of the last one so far that equals the result: there its gradient goes.
Var places_of(Gradient& g) {
  const std::size_t axis = axis_of(g.in_desc(0), g.attrs());
  const std::int64_t size = g.in_desc(0).shape[axis];
  const bool reverse = g.attrs().get<bool>("reverse");
  Shape line = Dims::filled(g.in_desc(0).shape.size(), 1);
  line[axis] = size;
  const Var count = op<"reshape">({counting(size, g.grad())}, {{"shape", line}});
  const Var here = op<"logical_or">(op<"equal">(g.in(0), g.out()), op<"isnan">(g.in(0)));
  const Var start = g.recorder().constant(reverse ? size - 1 : 0, DType::i64, g.grad());
  const Var marks = op<"where">(here, count, start);
  if (!reverse) return op<"cumulative_max">({marks}, {{"axis", g.attrs().value("axis")}});
  return op<"cumulative_min">({marks}, {{"axis", g.attrs().value("axis")}, {"reverse", true}});
}

void extreme_gradient(Gradient& g) {
  const Var zero = g.recorder().constant(0, g.in_desc(0).dtype, g.grad());
  const Var zeros = op<"broadcast_to">({zero}, {{"shape", g.in_desc(0).shape}});
  g.set(0, op<"scatter_add_along_axis">({zeros, places_of(g), g.grad()}, {{"axis", g.attrs().value("axis")}}));
}

std::vector<Sample> samples() {
  return {{.inputs = {{7}}},
          {.inputs = {{2, 5, 9}}, .attrs = {{"axis", 1}}},
          {.inputs = {{3, 4}}, .attrs = {{"axis", -1}, {"reverse", true}}},
          {.inputs = {{2, 0}}},
          {.inputs = {{0, 2}}}};
}

}  // namespace

std::vector<AttrSpec> attributes() {
  return {axis_attr(-1, "The axis to go along; negative ones count from the end."),
          {.name = "reverse", .type = AttrType::boolean, .fallback = false, .doc = "Whether to go from the end to the start."}};
}

void infer(const InferCall& call) {
  (void)axis_of(call[0], call.attrs);  // checks
  infer_like(call[0], call.out[0]);
}

void compute(kernels::Fold fold, const ComputeCall& call) {
  const View &x = call.in[0], &out = call.out[0];
  const bool same = x.dtype() == out.dtype();
  if (!same) kernels::convert(x, out);
  kernels::scan(fold, same ? x : out, axis_of(*out.desc, call.attrs), call.attrs.get<bool>("reverse"), out);
}

OpDef accumulation(std::string_view doc, void (*compute)(const ComputeCall& call)) {
  OpDef def{.doc = doc,
            .inputs = {"x"},
            .attributes = attributes(),
            .dtypes = widened_dtype,
            .infer = infer,
            .compute = compute,
            .reuse = {0b1},
            .samples = samples()};
  def.attributes.push_back(accumulation_attributes().back());
  return def;
}

OpDef extreme(std::string_view doc, void (*compute)(const ComputeCall& call)) {
  return {.doc = doc,
          .inputs = {"x"},
          .attributes = attributes(),
          .dtypes = keep_dtype,
          .infer = infer,
          .compute = compute,
          .reuse = {0b1},
          .gradient = extreme_gradient,
          .saves_inputs = 0b1,
          .saves_outputs = 0b1,
          .samples = samples()};
}

}  // namespace regrow::scanning
