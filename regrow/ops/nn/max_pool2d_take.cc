// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/pooling.h"
#include "regrow/tensor/format.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  require(call[0].shape == call[1].shape, "values and x differ in shape: {} and {}", call[0].shape, call[1].shape);
  call.out[0].shape = result_shape(pooling_of(call[1].shape, call.attrs));
  call.out[0].strides = strides_as(call[1], call.out[0].shape);
}

void compute(const ComputeCall& call) {
  kernels::max_pool(pooling_of(call.in[1].shape(), call.attrs), call.in[0], call.in[1], call.out[0]);
}

Cost cost(const CostCall& call) { return pooling_cost(pooling_of(call.in[1]->shape, call.attrs), call); }

void gradient(Gradient& g) {
  if (g.wants(0)) g.set(0, pooling_call<"max_pool2d_gradient">(g, {g.grad(), g.in(1)}));
}

}  // namespace

OpDef max_pool2d_take() {
  return {
      .doc =
          "The elements of values that stand where max_pool2d finds the largest elements of x; the adjoint of "
          "max_pool2d_gradient.",
      .inputs = {"values", "x"},
      .attributes = pooling_attributes(),
      .dtypes = one_float_dtype,
      .infer = infer,
      .compute = compute,
      .cost = cost,
      .gradient = gradient,
      .saves_inputs = 0b10,
      .samples = {{.inputs = {{2, 3, 4, 6}, {2, 3, 4, 6}}, .attrs = {{"kernel", 2}}},
                  {.inputs = {{1, 2, 5, 5}, {1, 2, 5, 5}},
                   .attrs = {{"kernel", Dims{3, 2}}, {"stride", Dims{1, 2}}, {"padding", Dims{1, 0}}}},
                  {.inputs = {{2, 2, 6, 5}, {2, 2, 6, 5}},
                   .attrs = {{"kernel", 3}, {"stride", 2}, {"padding", 1}, {"ceil_mode", true}}}},
  };
}

}  // namespace regrow::ops
