// SPDX-License-Identifier: Apache-2.0
// What all reductions share: their attributes, the shape and strides of the result, and how a gradient goes back over them. Any
// thread.
#pragma once

#include "regrow/kernels/fold.h"
#include "regrow/ops/op.h"
#include "regrow/ops/var.h"

namespace regrow {

// axis (default: all), keepdims (default: false).
std::vector<AttrSpec> reduction_attributes();
// These and an optional dtype: of sums and products.
std::vector<AttrSpec> accumulation_attributes();
// The axes that a call reduces, sorted, in [0, rank).
Dims reduced_axes(const Desc& x, const Attrs& attrs);
// How many elements make one result.
std::int64_t reduced_count(const Desc& x, const Dims& axes);
// The shape with the reduced axes kept at length 1.
Shape shape_keeping_axes(const Shape& shape, const Dims& axes);

// Shape, and dense strides in the axis order of the input: the result of a channels-last tensor stays channels-last.
void infer_reduction(const InferCall& call);
// The same where a result of no elements has no value. Throws Error "max: nothing to reduce in (0, 3) over the axes (0,)".
void infer_reduction_of_something(const InferCall& call);

// `dtypes` of sums and products: attribute `dtype` if given, otherwise i64 or u64 for integers and bool, the type itself for the
// rest.
void widened_dtype(std::span<const DType> in, const Attrs& attrs, std::span<DType> out);

// A result, or its gradient, as it would be with keepdims: reshaped if axes were dropped.
Var with_kept_axes(Gradient& g, Var reduced);
// The gradient of the result, repeated to the shape of the input.
Var spread(Gradient& g, Var reduced);

// Families: documentation and kernel, which is one of these folds.
void compute_fold(kernels::Fold fold, const ComputeCall& call);
void compute_place(kernels::Fold max_or_min, const ComputeCall& call);
OpDef extreme(std::string_view doc, void (*compute)(const ComputeCall& call));  // of the type of x; not of nothing
OpDef place(std::string_view doc, void (*compute)(const ComputeCall& call));    // of an extreme, as i64
OpDef truth(std::string_view doc, void (*compute)(const ComputeCall& call));    // bool

}  // namespace regrow
