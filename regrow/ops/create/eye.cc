// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "regrow/ops/create.h"
#include "regrow/ops/shapes.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  const auto rows = call.attrs.get<std::int64_t>("rows");
  OutDesc& out = call.out[0];
  out.shape = {rows, call.attrs.has("columns") ? call.attrs.get<std::int64_t>("columns") : rows};
  check_sizes(out.shape);
  out.strides = contiguous_strides(out.shape);
}

void compute(const ComputeCall& call) {
  const View& out = call.out[0];
  const std::size_t element = size_of(out.dtype());
  const auto diagonal = call.attrs.get<std::int64_t>("diagonal");
  const std::int64_t rows = out.shape()[0], columns = out.shape()[1];
  std::memset(out.data, 0, static_cast<std::size_t>(out.count()) * element);  // zero bits are zero in every type
  if (diagonal >= columns || diagonal <= -rows) return;
  for (std::int64_t row = std::max<std::int64_t>(0, -diagonal); row < std::min(rows, columns - diagonal); ++row)
    write_scalar(Scalar(1), out.dtype(), out.data + static_cast<std::size_t>(row * columns + row + diagonal) * element);
}

}  // namespace

OpDef eye() {
  return {.doc = "A matrix with ones on a diagonal and zeros elsewhere.",
          .inputs = {},
          .attributes =
              {{.name = "rows", .type = AttrType::integer, .doc = "How many rows."},
               {.name = "columns", .type = AttrType::integer, .optional = true, .doc = "How many columns; by default as rows."},
               {.name = "diagonal",
                .type = AttrType::integer,
                .fallback = std::int64_t{0},
                .doc = "Which diagonal: 0 the main one, above 0 to the right of it, below 0 to the left."},
               create::dtype_attr(),
               create::device_attr()},
          .dtypes = create::named_dtype,
          .infer = infer,
          .compute = compute,
          .samples = {{.inputs = {}, .attrs = {{"rows", 3}}},
                      {.inputs = {}, .attrs = {{"rows", 2}, {"columns", 4}, {"diagonal", 1}, {"dtype", DType::i8}}},
                      {.inputs = {}, .attrs = {{"rows", 0}}}}};
}

}  // namespace regrow::ops
