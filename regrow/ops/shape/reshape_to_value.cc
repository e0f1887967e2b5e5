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
  out[0].shape = with_name("reshape_to_value", [&] { return filled_shape(shape_from_value(in[1]), in[0].count()); });
  out[0].strides = contiguous_strides(out[0].shape);
  out[0].known = true;
}

void compute(const ComputeCall& call) {
  const Desc row_major = Desc::dense(call.in[0].dtype(), call.in[0].shape());
  kernels::copy(call.in[0], {&row_major, call.out[0].data});
}

}  // namespace

OpDef reshape_to_value() {
  return {
      .doc = "The elements of x, row-major, under the shape that a vector of integers holds; one size may be -1.",
      .inputs = {"x", "shape"},
      .dtypes = dtypes,
      .infer = infer,
      .measure = measure,
      .compute = compute,
      .fails_by_value = true,
      .gradient =
          [](Gradient& g) {
            g.set(0, op<"reshape">({g.grad()}, {{"shape", g.in_desc(0).shape}}));
          },
      .samples = {{.inputs = {{2, 2}, {2}}, .dtypes = {DType::f64, DType::i64}, .low = 2, .high = 2},
                  {.inputs = {{1}, {0}}, .dtypes = {DType::f64, DType::i32}}},
  };
}

}  // namespace regrow::ops
