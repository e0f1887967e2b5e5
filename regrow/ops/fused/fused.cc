// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/fused.h"

namespace regrow::ops {
namespace {

int output_count(std::span<const Desc* const>, const Attrs& attrs) {
  return static_cast<int>(fused_of(attrs).program().outputs.size());
}

void dtypes(std::span<const DType>, const Attrs& attrs, std::span<DType> out) {
  const kernels::TileProgram& program = fused_of(attrs).program();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = program.steps[program.outputs[i] - program.inputs].dtype;
}

// All outputs have the shape that the inputs broadcast to, in the axis order of the first input of that shape.
void infer(const InferCall& call) {
  Shape shape;
  for (const Desc* desc : call.in) shape = broadcast_shapes(shape, desc->shape);
  Strides strides = contiguous_strides(shape);
  for (std::size_t i = call.in.size(); i-- > 0;)
    if (call[i].shape == shape) strides = dense_strides_like(shape, shape, call[i].strides);
  for (OutDesc& out : call.out) out.shape = shape, out.strides = strides;
}

void compute(const ComputeCall& call) { kernels::run_tiles(fused_of(call.attrs).program(), call.in, call.out); }

}  // namespace

OpDef fused() {
  return {
      .doc = "Several elementwise operations as one pass over memory; made by the interpreter, with the bits of the single ones.",
      .inputs = {"xs..."},
      .output_count = output_count,
      .dtypes = dtypes,
      .infer = infer,
      .compute = compute,
      .reuse = {~0u, ~0u, ~0u, ~0u},
  };
}

}  // namespace regrow::ops
