// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/sort.h"

namespace regrow::ops {
namespace {

void compute(const ComputeCall& call) {
  kernels::sort(call.in[0], sorting::ordering_of(*call.in[0].desc, call.attrs), nullptr, &call.out[0], call.workspace);
}

}  // namespace

OpDef argsort() {
  return {
      .doc = "The indices (i64) that put x in order along an axis, as sort does: stable, NaN above every number.",
      .inputs = {"x"},
      .attributes = sorting::attributes(),
      .dtypes = [](std::span<const DType>, const Attrs&, std::span<DType> out) { out[0] = DType::i64; },
      .infer = sorting::infer,
      .compute = compute,
      .workspace = sorting::workspace,
      .cost = sorting::cost,
      .samples = sorting::samples(),
  };
}

}  // namespace regrow::ops
