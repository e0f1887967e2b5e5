// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/sort.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) { out[0] = in[0], out[1] = DType::i64; }

void infer(const InferCall& call) {
  const Desc& x = call[0];
  const std::size_t axis = axis_of(x, call.attrs);
  const std::int64_t k = call.attrs.get<std::int64_t>("k");
  require(k >= 0 && k <= x.shape[axis], "there are no {} elements along axis {} of size {}", k, axis, x.shape[axis]);
  for (OutDesc& out : call.out) {
    out.shape = x.shape;
    out.shape[axis] = k;
    out.strides = dense_strides_like(out.shape, x.shape, x.strides);
  }
}

void compute(const ComputeCall& call) {
  const Desc& x = *call.in[0].desc;
  const kernels::Ordering ordering{axis_of(x, call.attrs), call.attrs.get<bool>("largest")};
  kernels::sort(call.in[0], ordering, &call.out[0], &call.out[1], call.workspace);
}

}  // namespace

OpDef top_k() {
  return {
      .doc =
          "The k largest elements along an axis, the largest first, and their indices (i64); or the k smallest, the smallest "
          "first. "
          "Of equal elements the earlier one comes first; NaN is above every number, as in sort.",
      .inputs = {"x"},
      .attributes = {{.name = "k", .doc = "How many."},
                     axis_attr(-1),
                     {.name = "largest", .type = AttrType::boolean, .fallback = true, .doc = "Whether the largest are wanted."}},
      .outputs = {"values", "indices"},
      .dtypes = dtypes,
      .infer = infer,
      .compute = compute,
      .workspace = sorting::workspace,
      .cost = sorting::cost,
      .gradient =
          [](Gradient& g) {
            if (g.has_grad()) g.set(0, sorting::put_back(g, g.grad(), g.out(1)));
          },
      .saves_outputs = 0b10,
      .samples = {{.inputs = {{3, 5}}, .attrs = {{"k", 2}}},
                  {.inputs = {{2, 4, 3}}, .attrs = {{"k", 3}, {"axis", 1}, {"largest", false}}},
                  {.inputs = {{4}}, .attrs = {{"k", 4}}},
                  {.inputs = {{3, 2}}, .attrs = {{"k", 0}}}},
  };
}

}  // namespace regrow::ops
