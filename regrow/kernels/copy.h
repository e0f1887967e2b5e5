// SPDX-License-Identifier: Apache-2.0
// Copying elements between tensors of one shape and element size, whatever their strides. Re-entrant. Any thread.
#pragma once

#include "regrow/tensor/view.h"

namespace regrow::kernels {

// to[i] = from[i] for every index i. The shapes and the sizes of the element types are equal; `from` may repeat elements (stride
// 0), `to` must not; the two do not overlap.
void copy(const View& from, const View& to);

// The axes of one shape as two operands walk them, with axes merged where both can, sorted so that `to` advances least along the
// last.
struct CopyPlan {
  Shape shape;
  Strides from, to;
};
CopyPlan plan_copy(const Shape& shape, const Strides& from, const Strides& to);
// For Unit std::uint8_t, 16, 32 and 64; no axis may be empty.
template <class Unit>
void run_copy(const CopyPlan& plan, const Unit* from, Unit* to);

}  // namespace regrow::kernels
