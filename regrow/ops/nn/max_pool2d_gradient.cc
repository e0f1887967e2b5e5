// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/pooling.h"
#include "regrow/tensor/format.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  const Shape result = result_shape(pooling_of(call[1].shape, call.attrs));
  require(call[0].shape == result, "pooling {} gives the shape {}, not {}", call[1].shape, result, call[0].shape);
  call.out[0].shape = call[1].shape;
  call.out[0].strides = strides_as(call[1], call[1].shape);
}

void compute(const ComputeCall& call) {
  kernels::max_pool_back(pooling_of(call.in[1].shape(), call.attrs), call.in[0], call.in[1], call.out[0], call.workspace);
}

std::size_t workspace(const CostCall& call) { return kernels::pool_back_workspace(*call.out[0]); }

Cost cost(const CostCall& call) { return pooling_cost(pooling_of(call.in[1]->shape, call.attrs), call); }

// Linear in grad; its adjoint picks what stands where the maxima are. Which elements those are does not change with x, but for
// ties.
void gradient(Gradient& g) {
  if (g.wants(0)) g.set(0, pooling_call<"max_pool2d_take">(g, {g.grad(), g.in(1)}));
}

}  // namespace

OpDef max_pool2d_gradient() {
  return {
      .doc =
          "The gradient of max_pool2d with respect to x from that of its result: each element of grad goes to the first largest "
          "element "
          "of its window (the first NaN, if it holds one), row by row.",
      .inputs = {"grad", "x"},
      .attributes = pooling_attributes(),
      .dtypes = one_float_dtype,
      .infer = infer,
      .compute = compute,
      .workspace = workspace,
      .cost = cost,
      .gradient = gradient,
      .saves_inputs = 0b10,
      .samples = {{.inputs = {{2, 3, 2, 3}, {2, 3, 4, 6}}, .attrs = {{"kernel", 2}}},
                  {.inputs = {{1, 2, 5, 2}, {1, 2, 5, 5}},
                   .attrs = {{"kernel", Dims{3, 2}}, {"stride", Dims{1, 2}}, {"padding", Dims{1, 0}}}},
                  {.inputs = {{2, 2, 4, 3}, {2, 2, 6, 5}},
                   .attrs = {{"kernel", 3}, {"stride", 2}, {"padding", 1}, {"ceil_mode", true}}}},
  };
}

}  // namespace regrow::ops
