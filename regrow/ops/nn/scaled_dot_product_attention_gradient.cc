// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/attention.h"
#include "regrow/tensor/format.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  check_attention_dtypes(in[1], in[2], in[3]);
  require(in[0] == in[1] && in[4] == in[1] && in[5] == attention_sum_dtype(in[1]),
          "results of another type than the queries: {}, {}, {}", name_of(in[0]), name_of(in[4]), name_of(in[5]));
  require(in.size() <= 7, "takes one mask, not {}", in.size() - 6);
  if (in.size() > 6) check_mask_dtype(in[6], in[1]);
  out[0] = out[1] = out[2] = in[1];
}

void infer(const InferCall& call) {
  check_attention(call[1], call[2], call[3], call.in.size() > 6 ? call.in[6] : nullptr, call.attrs);
  Shape result = rows_shape(call[1]);
  require(call[5].shape == result, "the rows' sums have the shape {}, not {}", result, call[5].shape);
  result.push_back(call[3].shape.back());
  require(call[0].shape == result && call[4].shape == result, "the result has the shape {}, not {}, {}", result, call[0].shape,
          call[4].shape);
  for (std::size_t i = 0; i < 3; ++i) {
    const Desc& in = call[i + 1];
    call.out[i].shape = in.shape;
    call.out[i].strides = dense_strides_like(in.shape, in.shape, in.strides);
  }
}

void compute(const ComputeCall& call) {
  kernels::attention_back(
      attention_of(call.in.subspan(1, 3), call.in.size() > 6 ? &call.in[6] : nullptr, call.attrs, call.random), call.in[0],
      call.in[4], call.in[5], call.out[0], call.out[1], call.out[2], call.workspace);
}

Cost cost(const CostCall& call) {
  Cost cost;
  const double keys = static_cast<double>(call.in[2]->shape[call.in[2]->shape.size() - 2]);
  const double width = static_cast<double>(3 * call.in[2]->shape.back() + 2 * call.in[3]->shape.back());
  cost.flops = 2 * static_cast<double>(element_count(rows_shape(*call.in[1]))) * keys * width;
  for (const Desc* desc : call.in) cost.bytes += static_cast<double>(desc->bytes());
  for (const Desc* desc : call.out) cost.bytes += static_cast<double>(desc->bytes());
  return cost;
}

}  // namespace

OpDef scaled_dot_product_attention_gradient() {
  return {
      .doc =
          "The gradients of the queries, keys and values of attention, from that of its result, what it was applied to and its "
          "two "
          "results; the weights are computed again, block by block.",
      .inputs = {"grad", "q", "k", "v", "out", "log_sum", "mask..."},
      .attributes = attention_attributes(),
      .outputs = {"dq", "dk", "dv"},
      .dtypes = dtypes,
      .infer = infer,
      .compute = compute,
      .workspace = [](const CostCall& call) { return kernels::attention_back_workspace(*call.in[1], *call.in[2], *call.in[3]); },
      .cost = cost,
      .replay = Replay::seeded,
      .samples = {{.inputs = {{2, 3, 3}, {2, 3, 4}, {2, 5, 4}, {2, 5, 3}, {2, 3, 3}, {2, 3}}},
                  {.inputs = {{5, 3}, {5, 2}, {5, 2}, {5, 3}, {5, 3}, {5}, {5, 5}},
                   .attrs = {{"causal", true}, {"dropout", 0.5}},
                   .dtypes = {DType::f32, DType::f32, DType::f32, DType::f32, DType::f32, DType::f32, DType::boolean}}},
  };
}

}  // namespace regrow::ops
