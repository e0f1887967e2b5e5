// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/copy.h"
#include "regrow/ops/shapes.h"
#include "regrow/ops/var.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  OutDesc& out = call.out[0];
  out.shape = call[0].shape;
  out.strides = call.attrs.get<bool>("channels_last") ? channels_last_strides(out.shape) : contiguous_strides(out.shape);
}

}  // namespace

OpDef copy() {
  return {
      .doc = "x in memory of its own, row-major or channels-last.",
      .inputs = {"x"},
      .attributes = {{.name = "channels_last",
                      .type = AttrType::boolean,
                      .fallback = false,
                      .doc = "Whether the channels of an (N, C, H, W) lie innermost."}},
      .dtypes = keep_dtype,
      .infer = infer,
      .compute = [](const ComputeCall& call) { kernels::copy(call.in[0], call.out[0]); },
      .gradient = [](Gradient& g) { g.set(0, g.grad()); },
      .samples = {{.inputs = {{2, 3}}},
                  {.inputs = {{2, 3, 4, 5}}, .attrs = {{"channels_last", true}}},
                  {.inputs = {{}}},
                  {.inputs = {{0, 2}}}},
  };
}

}  // namespace regrow::ops
