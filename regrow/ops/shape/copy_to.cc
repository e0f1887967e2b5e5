// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/copy.h"
#include "regrow/ops/shapes.h"
#include "regrow/ops/var.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  OutDesc& out = call.out[0];
  out.shape = call[0].shape;
  out.strides = dense_strides_like(out.shape, out.shape, call[0].strides);
}

}  // namespace

OpDef copy_to() {
  return {
      .doc = "x on another device, in memory of its own with the same axis order.",
      .inputs = {"x"},
      .attributes = {{.name = "device", .type = AttrType::device, .doc = "Where the result lives."}},
      .dtypes = keep_dtype,
      .infer = infer,
      .compute = [](const ComputeCall& call) { kernels::copy(call.in[0], call.out[0]); },
      .replay = Replay::never,
      .gradient =
          [](Gradient& g) {
            g.set(0, op<"copy_to">({g.grad()}, {{"device", g.in_desc(0).device}}));
          },
      .samples = {{.inputs = {{2, 3}}, .attrs = {{"device", Device(1)}}}, {.inputs = {{}}, .attrs = {{"device", Device(0)}}}},
  };
}

}  // namespace regrow::ops
