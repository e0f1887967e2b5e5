// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "regrow/ops/indexing.h"
#include "regrow/tensor/visit.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs& attrs, std::span<DType> out) {
  require_index_type(in[0]);
  out[0] = attrs.get<DType>("dtype");
}

void infer(const InferCall& call) {
  const std::int64_t classes = call.attrs.get<std::int64_t>("classes");
  require(classes >= 0, "there cannot be {} classes", classes);
  OutDesc& out = call.out[0];
  out.shape = call[0].shape;
  out.shape.push_back(classes);
  out.strides = contiguous_strides(out.shape);
}

void compute(const ComputeCall& call) {
  const View &indices = call.in[0], &out = call.out[0];
  const std::int64_t classes = out.shape().back();
  auto* resolved = reinterpret_cast<std::int64_t*>(call.workspace.data());
  resolve_indices(indices, classes, "one_hot", indices.shape().size(), resolved);
  alignas(8) std::byte one[8] = {};
  write_scalar(1, out.dtype(), one);
  visit_unit(out.dtype(), [&]<class Unit>(Type<Unit>) {
    Unit* to = out.as<Unit>();
    std::fill_n(to, out.count(), Unit{0});
    for (std::int64_t i = 0; i < indices.count(); ++i) std::memcpy(to + i * classes + resolved[i], one, sizeof(Unit));
  });
}

}  // namespace

OpDef one_hot() {
  return {
      .doc =
          "For each index a row of `classes` zeros with a one at the index. Negative indices count from the end; one out of "
          "range is an error when the operation runs.",
      .inputs = {"indices"},
      .attributes = {{.name = "classes", .type = AttrType::integer, .doc = "Length of the new last axis."},
                     {.name = "dtype", .type = AttrType::dtype, .fallback = DType::f32, .doc = "Type of the result."}},
      .dtypes = dtypes,
      .infer = infer,
      .compute = compute,
      .workspace = [](const CostCall& call) { return resolved_bytes(*call.in[0]); },
      .fails_by_value = true,
      .samples =
          {{.inputs = {{5}}, .attrs = {{"classes", 3}}, .dtypes = {DType::i64}, .low = -3, .high = 2},
           {.inputs = {{2, 3}}, .attrs = {{"classes", 4}, {"dtype", DType::bf16}}, .dtypes = {DType::u8}, .low = 0, .high = 3},
           {.inputs = {{}}, .attrs = {{"classes", 1}}, .dtypes = {DType::i32}, .low = 0, .high = 0},
           {.inputs = {{0}}, .attrs = {{"classes", 2}}, .dtypes = {DType::i8}}},
  };
}

}  // namespace regrow::ops
