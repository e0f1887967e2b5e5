// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "regrow/kernels/convert.h"
#include "regrow/kernels/element_types.h"
#include "regrow/kernels/parts.h"
#include "regrow/kernels/workspace.h"
#include "regrow/ops/embedding.h"
#include "regrow/ops/indexing.h"
#include "regrow/ops/pooling.h"
#include "regrow/ops/var.h"
#include "regrow/tensor/format.h"
#include "regrow/tensor/walk.h"

namespace regrow::ops {
namespace {

constexpr double least_elements = 1 << 15;  // added, that a thread is woken for

void dtypes(std::span<const DType> in, const Attrs& attrs, std::span<DType> out) {
  require_index_type(in[1]);
  one_float_dtype(in.first(1), attrs, out);
}

void infer(const InferCall& call) {
  const Shape &grad = call[0].shape, &indices = call[1].shape;
  Shape wanted = indices;
  wanted.push_back(grad.empty() ? 0 : grad.back());
  require(grad == wanted, "gradients {} of rows at indices {}", grad, indices);
  const std::int64_t rows = call.attrs.get<std::int64_t>("rows");
  require(rows >= 0, "a weight has no {} rows", rows);
  (void)padding_row(call.attrs, rows);  // checks
  call.out[0].shape = {rows, grad.back()};
  call.out[0].strides = contiguous_strides(call.out[0].shape);
}

// Columns [first, last) of all rows: threads share the columns, so that each sum is added up in the order of the indices.
template <class T>
void add_columns(const View& grad, const std::int64_t* rows, std::int64_t padding, std::int64_t width, std::int64_t first,
                 std::int64_t last, kernels::Wide<T>* sums) {
  Shape lists = grad.shape();
  Strides strides = grad.strides();
  const std::int64_t step = strides.back();
  lists.erase(lists.size() - 1), strides.erase(strides.size() - 1);
  walk<1>(lists, {strides}, [&](std::int64_t at) {
    const std::int64_t row = *rows++;
    if (row == padding) return;
    const T* from = grad.as<const T>() + at;
    kernels::Wide<T>* to = sums + row * width;
    if (step == 1)
      for (std::int64_t j = first; j < last; ++j) to[j] += static_cast<kernels::Wide<T>>(from[j]);
    else
      for (std::int64_t j = first; j < last; ++j) to[j] += static_cast<kernels::Wide<T>>(from[j * step]);
  });
}

void compute(const ComputeCall& call) {
  const View &grad = call.in[0], &indices = call.in[1], &out = call.out[0];
  const std::int64_t height = out.shape()[0], width = out.shape()[1], padding = padding_row(call.attrs, height);
  kernels::Workspace workspace(call.workspace);
  auto* rows = workspace.take_array<std::int64_t>(indices.count());
  embedding_rows(indices, height, "embedding_gradient", rows);
  kernels::with_float(out.dtype(), [&]<class T>(T) {
    using W = kernels::Wide<T>;
    constexpr bool in_place = std::is_same_v<T, W>;
    W* sums = in_place ? out.as<W>() : workspace.take_array<W>(height * width);
    std::fill_n(sums, height * width, W(0));
    const int parts = kernels::parts_for(static_cast<double>(grad.count()), least_elements);
    kernels::for_parts(parts, [&](int index) {
      add_columns<T>(grad, rows, padding, width, kernels::cut(width, parts, index, 16), kernels::cut(width, parts, index + 1, 16),
                     sums);
    });
    if constexpr (!in_place) {
      const Desc wide = Desc::dense(dtype_of<W>(), out.shape());
      kernels::convert({&wide, reinterpret_cast<std::byte*>(sums)}, out);
    }
  });
}

std::size_t workspace(const CostCall& call) {
  kernels::Workspace workspace;
  workspace.take_array<std::int64_t>(call.in[1]->count());
  const DType dtype = call.out[0]->dtype;
  if (dtype == DType::f16 || dtype == DType::bf16) workspace.take_array<float>(call.out[0]->count());
  return workspace.used();
}

// Rows are read where they were added, but for the padding.
void gradient(Gradient& g) {
  const Var rows = op<"embedding">(g.grad(), g.in(1));
  const std::int64_t padding = padding_row(g.attrs(), g.attrs().get<std::int64_t>("rows"));
  if (padding < 0) return g.set(0, rows);
  Shape lists = g.in_desc(1).shape;
  lists.push_back(1);
  const Var padded = op<"equal">(g.in(1), g.recorder().constant(padding, DType::i64, g.in(1)));
  const Var zero = g.recorder().constant(0, g.in_desc(0).dtype, rows);
  g.set(0, op<"where">(op<"reshape">({padded}, {{"shape", lists}}), zero, rows));
}

}  // namespace

OpDef embedding_gradient() {
  return {
      .doc =
          "The gradient of the weight of an embedding: the rows of grad added up by index, in the order of the indices; 16-bit types "
          "are added in f32 and rounded once.",
      .inputs = {"grad", "indices"},
      .attributes = {{.name = "rows", .type = AttrType::integer, .doc = "Of the weight."}, padding_attribute()},
      .dtypes = dtypes,
      .infer = infer,
      .compute = compute,
      .workspace = workspace,
      .fails_by_value = true,
      .gradient = gradient,
      .saves_inputs = 0b10,
      .samples = {{.inputs = {{2, 3, 4}, {2, 3}}, .attrs = {{"rows", 4}}, .dtypes = {DType::f64, DType::i64}, .low = 0, .high = 3},
                  {.inputs = {{5, 2}, {5}},
                   .attrs = {{"rows", 3}, {"padding_idx", 1}},
                   .dtypes = {DType::f64, DType::i32},
                   .low = 0,
                   .high = 2}},
  };
}

}  // namespace regrow::ops
