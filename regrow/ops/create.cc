// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/create.h"

#include "regrow/ops/shapes.h"

namespace regrow::create {

AttrSpec dtype_attr(DType fallback) {
  return {.name = "dtype", .type = AttrType::dtype, .fallback = fallback, .doc = "The type of the elements."};
}

AttrSpec optional_dtype_attr(std::string_view doc) {
  return {.name = "dtype", .type = AttrType::dtype, .optional = true, .doc = doc};
}

AttrSpec device_attr() { return {.name = "device", .type = AttrType::device, .fallback = Device{}, .doc = "Where it is made."}; }

AttrSpec shape_attr() { return {.name = "shape", .type = AttrType::dims, .doc = "The shape of the result."}; }

void named_dtype(std::span<const DType>, const Attrs& attrs, std::span<DType> out) { out[0] = attrs.get<DType>("dtype"); }

void named_shape(const InferCall& call) {
  OutDesc& out = call.out[0];
  out.shape = call.attrs.get<Dims>("shape");
  check_sizes(out.shape);
  out.strides = contiguous_strides(out.shape);
}

}  // namespace regrow::create
