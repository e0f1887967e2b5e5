// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/embedding.h"

#include "regrow/kernels/copy.h"
#include "regrow/ops/indexing.h"
#include "regrow/ops/var.h"
#include "regrow/tensor/format.h"
#include "regrow/tensor/visit.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  require_index_type(in[1]);
  out[0] = in[0];
}

void infer(const InferCall& call) {
  const Shape& weight = call[0].shape;
  require(weight.size() == 2, "the weight has the shape (rows, width), not {}", weight);
  (void)padding_row(call.attrs, weight[0]);  // checks
  call.out[0].shape = call[1].shape;
  call.out[0].shape.push_back(weight[1]);
  call.out[0].strides = contiguous_strides(call.out[0].shape);
}

void compute(const ComputeCall& call) {
  const View &weight = call.in[0], &out = call.out[0];
  auto* rows = reinterpret_cast<std::int64_t*>(call.workspace.data());
  embedding_rows(call.in[1], weight.shape()[0], "embedding", rows);
  const std::int64_t width = weight.shape()[1], row = weight.strides()[0], step = weight.strides()[1];
  visit_unit(weight.dtype(), [&]<class Unit>(Type<Unit>) {
    const auto* from = weight.as<const Unit>();
    auto* to = out.as<Unit>();
    for (std::int64_t i = 0; i < call.in[1].count(); ++i, to += width) {
      const Unit* found = from + rows[i] * row;
      if (step == 1) std::copy_n(found, width, to);
      else
        for (std::int64_t j = 0; j < width; ++j) to[j] = found[j * step];
    }
  });
}

void gradient(Gradient& g) {
  g.set(0, op<"embedding_gradient">({g.grad(), g.in(1)}, {{"rows", g.in_desc(0).shape[0]},
                                                          {"padding_idx", g.attrs().value("padding_idx")}}));
}

}  // namespace

OpDef embedding() {
  return {
      .doc =
          "The rows of a weight (rows, width) at these indices, of the shape of the indices and a last axis of that width. An index "
          "that names no row is an error when the operation runs. The row padding_idx gets no gradient.",
      .inputs = {"weight", "indices"},
      .attributes = {padding_attribute()},
      .dtypes = dtypes,
      .infer = infer,
      .compute = compute,
      .workspace = [](const CostCall& call) { return resolved_bytes(*call.in[1]); },
      .fails_by_value = true,
      .gradient = gradient,
      .saves_inputs = 0b10,
      .samples = {{.inputs = {{4, 3}, {2, 3}}, .dtypes = {DType::f64, DType::i64}, .low = 0, .high = 3},
                  {.inputs = {{3, 2}, {5}}, .dtypes = {DType::f64, DType::u8}, .low = 0, .high = 2},
                  {.inputs = {{3, 2}, {}}, .dtypes = {DType::f64, DType::i32}, .low = 0, .high = 2}},
  };
}

}  // namespace regrow::ops
