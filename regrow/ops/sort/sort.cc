// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/sort.h"

namespace regrow::ops {
namespace {

void compute(const ComputeCall& call) {
  kernels::sort(call.in[0], sorting::ordering_of(*call.in[0].desc, call.attrs), &call.out[0], nullptr, call.workspace);
}

void gradient(Gradient& g) {
  const Attrs& attrs = g.attrs();
  const Var places = op<"argsort">({g.in(0)}, {{"axis", attrs.value("axis")}, {"descending", attrs.value("descending")}});
  g.set(0, sorting::put_back(g, g.grad(), places));
}

}  // namespace

OpDef sort() {
  return {
      .doc =
          "The elements of x in order along an axis, equal ones in the order in which they stood. NaN, whatever its sign, is "
          "above "
          "every number: last, or first if descending.",
      .inputs = {"x"},
      .attributes = sorting::attributes(),
      .dtypes = keep_dtype,
      .infer = sorting::infer,
      .compute = compute,
      .workspace = sorting::workspace,
      .cost = sorting::cost,
      .gradient = gradient,
      .saves_inputs = 0b1,
      .samples = sorting::samples(),
  };
}

}  // namespace regrow::ops
