// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/sort.h"

#include <cmath>

namespace regrow::sorting {

std::vector<AttrSpec> attributes() {
  return {axis_attr(-1, "The axis to sort along; negative ones count from the end."),
          {.name = "descending", .type = AttrType::boolean, .fallback = false, .doc = "Whether the largest comes first."}};
}

kernels::Ordering ordering_of(const Desc& x, const Attrs& attrs) { return {axis_of(x, attrs), attrs.get<bool>("descending")}; }

void infer(const InferCall& call) {
  (void)axis_of(call[0], call.attrs);  // checks
  infer_like(call[0], call.out[0]);
}

std::size_t workspace(const CostCall& call) { return kernels::sort_workspace(*call.in[0], axis_of(*call.in[0], call.attrs)); }

Cost cost(const CostCall& call) {
  const Desc& x = *call.in[0];
  const double count = static_cast<double>(x.count());
  const double length = static_cast<double>(x.shape[axis_of(x, call.attrs)]);
  return {.flops = count * std::log2(length + 1), .bytes = 24 * count};
}

std::vector<Sample> samples() {
  return {{.inputs = {{3, 5}}},
          {.inputs = {{2, 4, 3}}, .attrs = {{"axis", 1}, {"descending", true}}},
          {.inputs = {{0, 3}}},
          {.inputs = {{3, 0}}}};
}

Var put_back(Gradient& g, Var grad, Var places) {
  const Var zero = g.recorder().constant(0, g.in_desc(0).dtype, grad);
  const Var zeros = op<"broadcast_to">({zero}, {{"shape", g.in_desc(0).shape}});
  return op<"scatter_add_along_axis">({zeros, places, grad}, {{"axis", g.attrs().value("axis")}});
}

}  // namespace regrow::sorting
