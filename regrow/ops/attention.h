// SPDX-License-Identifier: Apache-2.0
// What attention and its gradient share: attributes, checks, the call of the kernel. Any thread.
#pragma once

#include "regrow/kernels/attention.h"
#include "regrow/ops/op.h"

namespace regrow {

std::vector<AttrSpec> attention_attributes();
double attention_scale(const Attrs& attrs, const Desc& q);  // 1 / sqrt(D) unless given
// Shapes (…, L, D), (…, S, D), (…, S, E) and, if there is one, a mask that broadcasts to (…, L, S); or Error.
void check_attention(const Desc& q, const Desc& k, const Desc& v, const Desc* mask, const Attrs& attrs);
// One floating type; a mask is bool or of it. Throws Error otherwise.
void check_attention_dtypes(DType q, DType k, DType v);
void check_mask_dtype(DType mask, DType q);
kernels::Attention attention_of(std::span<const View> qkv, const View* mask, const Attrs& attrs, RandomState random);
// (…, L, S) of the scores, (…, L) of their rows.
Shape scores_shape(const Desc& q, const Desc& k);
Shape rows_shape(const Desc& q);
inline DType attention_sum_dtype(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

}  // namespace regrow
