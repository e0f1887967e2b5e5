// SPDX-License-Identifier: Apache-2.0
// Shapes that a user asks for, checked: what reshape and its kin share. Any thread.
#pragma once

#include <fmt/format.h>

#include "regrow/ops/op.h"

namespace regrow {

// `wanted` with its one -1, if any, replaced so that it holds `count` elements.
// Throws Error "12 elements do not fill (7,)" if that cannot be.
Shape filled_shape(const Shape& wanted, std::int64_t count);

// Throws Error unless every size is at least 0 and the number of elements fits in 63 bits.
void check_sizes(const Shape& shape);

// The strides of `x` read under the shape `to`. Throws Error "(2, 3) does not broadcast to (4,)".
Strides strides_broadcast_to(const Desc& x, const Shape& to);

// The elements of an integer vector, as a shape. Throws Error if there are more than max_rank.
Shape shape_from_value(const View& value);

// The attribute `axis`, an axis of x that may count from the end, and which it is, in [0, rank). Throws Error if there is none.
AttrSpec axis_attr(std::int64_t fallback, std::string_view doc = "The axis; negative ones count from the end.");
std::size_t axis_of(const Desc& x, const Attrs& attrs);
// `infer` of operators whose result has the shape of x, dense, in the axis order of its memory.
void infer_like(const Desc& x, OutDesc& out);

// `dtypes` of operators that only move elements: the type of the first input.
void keep_dtype(std::span<const DType> in, const Attrs& attrs, std::span<DType> out);
// `dtypes` of operators whose inputs all have one type, which is the output's. Throws Error "the element types differ: f32 and
// i64".
void common_dtype(std::span<const DType> in, const Attrs& attrs, std::span<DType> out);

// Runs `body`; the text of an Error gets "name: " in front. For errors that depend on values, which inference does not see.
template <class Body>
auto with_name(std::string_view name, Body&& body) {
  try {
    return body();
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", name, error.message()), Site{});
  }
}

}  // namespace regrow
