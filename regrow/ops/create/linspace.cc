// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "regrow/kernels/elementwise.h"
#include "regrow/ops/create.h"
#include "regrow/ops/shapes.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType>, const Attrs& attrs, std::span<DType> out) {
  out[0] = attrs.get<DType>("dtype");
  require(is_floating(out[0]), "is not defined for {}: only for floating types", name_of(out[0]));
}

void infer(const InferCall& call) {
  const auto count = call.attrs.get<std::int64_t>("count");
  require(count >= 0, "the number of elements is not negative: {}", count);
  OutDesc& out = call.out[0];
  out.shape = {count};
  check_sizes(out.shape);
  out.strides = contiguous_strides(out.shape);
}

void compute(const ComputeCall& call) {
  const double start = call.attrs.get<double>("start"), stop = call.attrs.get<double>("stop");
  const bool endpoint = call.attrs.get<bool>("endpoint");
  const View& out = call.out[0];
  const std::int64_t count = out.count();
  const std::int64_t intervals = std::max<std::int64_t>(1, endpoint ? count - 1 : count);
  const double step = (stop - start) / static_cast<double>(intervals);
  const kernels::TileFn convert = kernels::convert(DType::f64, out.dtype()).fn;
  double values[kernels::tile_size];
  const void* from = values;
  for (std::int64_t at = 0; at < count; at += static_cast<std::int64_t>(kernels::tile_size)) {
    const auto n = std::min<std::int64_t>(count - at, kernels::tile_size);
    for (std::int64_t i = 0; i < n; ++i)
      values[i] = endpoint && at + i == intervals ? stop : start + static_cast<double>(at + i) * step;
    convert(&from, out.data + static_cast<std::size_t>(at) * size_of(out.dtype()), static_cast<std::size_t>(n));
  }
}

}  // namespace

OpDef linspace() {
  return {.doc = "`count` numbers at equal distances from start to stop, stop included unless told otherwise.",
          .inputs = {},
          .attributes = {{.name = "start", .type = AttrType::real, .doc = "The first number."},
                         {.name = "stop", .type = AttrType::real, .doc = "The last number, or the first one beyond."},
                         {.name = "count", .type = AttrType::integer, .doc = "How many numbers."},
                         {.name = "endpoint", .type = AttrType::boolean, .fallback = true, .doc = "Whether stop is one of them."},
                         create::dtype_attr(),
                         create::device_attr()},
          .dtypes = dtypes,
          .infer = infer,
          .compute = compute,
          .samples = {
              {.inputs = {}, .attrs = {{"start", -1.0}, {"stop", 2.0}, {"count", 7}}},
              {.inputs = {}, .attrs = {{"start", 0.0}, {"stop", 1.0}, {"count", 4}, {"endpoint", false}, {"dtype", DType::f64}}},
              {.inputs = {}, .attrs = {{"start", 0.0}, {"stop", 1.0}, {"count", 0}}}}};
}

}  // namespace regrow::ops
