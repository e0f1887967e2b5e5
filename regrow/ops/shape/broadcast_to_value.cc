// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/copy.h"
#include "regrow/ops/shapes.h"
#include "regrow/ops/var.h"
#include "regrow/tensor/format.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  require(is_integer(in[1]), "a shape is of integers, not {}", name_of(in[1]));
  out[0] = in[0];
}

void infer(const InferCall& call) {
  require(call[1].shape.size() == 1, "a shape is a vector, not {}", call[1]);
  call.out[0].known = false;
}

void measure(std::span<const View> in, const Attrs&, std::span<OutDesc> out) {
  with_name("broadcast_to_value", [&] {
    out[0].shape = shape_from_value(in[1]);
    (void)strides_broadcast_to(*in[0].desc, out[0].shape);
  });
  out[0].strides = contiguous_strides(out[0].shape);
  out[0].known = true;
}

void compute(const ComputeCall& call) {
  Desc repeated = *call.in[0].desc;
  repeated.shape = call.out[0].shape();
  repeated.strides = strides_broadcast_to(*call.in[0].desc, repeated.shape);
  kernels::copy({&repeated, call.in[0].data}, call.out[0]);
}

}  // namespace

OpDef broadcast_to_value() {
  return {
      .doc = "x repeated to the shape that a vector of integers holds.",
      .inputs = {"x", "shape"},
      .dtypes = dtypes,
      .infer = infer,
      .measure = measure,
      .compute = compute,
      .fails_by_value = true,
      .gradient = [](Gradient& g) { g.set(0, sum_to(g.grad(), g.in_desc(0).shape)); },
      .samples = {{.inputs = {{3, 1}, {3}}, .dtypes = {DType::f64, DType::i64}, .low = 3, .high = 3},
                  {.inputs = {{}, {0}}, .dtypes = {DType::f64, DType::u8}}},
  };
}

}  // namespace regrow::ops
