// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/op.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  call.out[0].shape = {call[0].shape.rank()};
  call.out[0].strides = {1};
}

// Reads the descriptor only: the input's data may be null.
void compute(const ComputeCall& call) {
  const Shape& shape = call.in[0].shape();
  const std::int64_t stride = call.out[0].strides()[0];
  for (std::size_t i = 0; i < shape.size(); ++i) call.out[0].as<std::int64_t>()[static_cast<std::int64_t>(i) * stride] = shape[i];
}

}  // namespace

OpDef shape_of() {
  return {
      .doc = "The shape of x as a vector of i64. Reads no values.",
      .inputs = {"x"},
      .dtypes = [](std::span<const DType>, const Attrs&, std::span<DType> out) { out[0] = DType::i64; },
      .infer = infer,
      .compute = compute,
      .samples = {{.inputs = {{2, 3}}}, {.inputs = {{}}}, {.inputs = {{0, 4, 1}}}},
  };
}

}  // namespace regrow::ops
