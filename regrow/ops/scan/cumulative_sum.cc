// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"
#include "regrow/ops/scan.h"

namespace regrow::ops {

OpDef cumulative_sum() {
  OpDef def = scanning::accumulation(
      "The sum of the elements so far along an axis. Integers and bool give i64 or u64; f32 is added in f64, 16-bit floating "
      "types "
      "in f32, and each sum is rounded once.",
      [](const ComputeCall& call) { scanning::compute(kernels::Fold::sum, call); });
  def.gradient = [](Gradient& g) {
    const bool reverse = !g.attrs().get<bool>("reverse");
    elementwise::give(g, 0, op<"cumulative_sum">({g.grad()}, {{"axis", g.attrs().value("axis")}, {"reverse", reverse}}));
  };
  return def;
}

}  // namespace regrow::ops
