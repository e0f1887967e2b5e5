// SPDX-License-Identifier: Apache-2.0
// What operators share that make a tensor of nothing: dense outputs, whose type and device attributes name. Any thread.
#pragma once

#include "regrow/ops/op.h"

namespace regrow::create {

// Attributes "dtype" (f32 if not given, unless `optional`: then unset) and "device".
AttrSpec dtype_attr(DType fallback = DType::f32);
AttrSpec optional_dtype_attr(std::string_view doc);
AttrSpec device_attr();
AttrSpec shape_attr();

// `dtypes` of operators with dtype_attr.
void named_dtype(std::span<const DType> in, const Attrs& attrs, std::span<DType> out);
// `infer` of operators with shape_attr.
void named_shape(const InferCall& call);

}  // namespace regrow::create
