// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/pooling.h"
#include "regrow/tensor/format.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  require(call[0].shape == call[1].shape, "values and x differ in shape: {} and {}", call[0].shape, call[1].shape);
  const Shape result = with_size(call[1].shape, call.attrs);
  (void)adaptive_pooling(call[1].shape, result);  // checks
  call.out[0].shape = result;
  call.out[0].strides = strides_as(call[1], result);
}

void compute(const ComputeCall& call) {
  kernels::max_pool(adaptive_pooling(call.in[1].shape(), call.out[0].shape()), call.in[0], call.in[1], call.out[0]);
}

Cost cost(const CostCall& call) { return pooling_cost(adaptive_pooling(call.in[1]->shape, call.out[0]->shape), call); }

void gradient(Gradient& g) {
  if (g.wants(0)) g.set(0, op<"adaptive_max_pool2d_gradient">(g.grad(), g.in(1)));
}

}  // namespace

OpDef adaptive_max_pool2d_take() {
  return {
      .doc =
          "The elements of values that stand where adaptive_max_pool2d finds the largest elements of x; the adjoint of "
          "adaptive_max_pool2d_gradient.",
      .inputs = {"values", "x"},
      .attributes = {{.name = "size", .type = AttrType::dims, .doc = "Height and width of the result."}},
      .dtypes = one_float_dtype,
      .infer = infer,
      .compute = compute,
      .cost = cost,
      .gradient = gradient,
      .saves_inputs = 0b10,
      .samples = {{.inputs = {{2, 3, 4, 6}, {2, 3, 4, 6}}, .attrs = {{"size", 1}}},
                  {.inputs = {{1, 9, 5, 7}, {1, 9, 5, 7}}, .attrs = {{"size", Dims{3, 4}}}}},
  };
}

}  // namespace regrow::ops
