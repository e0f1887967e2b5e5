// SPDX-License-Identifier: Apache-2.0
// What interpolate and its adjoint share. Any thread.
#pragma once

#include "regrow/kernels/interpolation.h"
#include "regrow/ops/op.h"

namespace regrow {

// size, mode, align_corners.
std::vector<AttrSpec> interpolation_attributes(std::string_view size_doc);
kernels::Interpolation interpolation_of(const Attrs& attrs);  // throws Error on a mode that there is not
// (N, C, size) for an image (N, C, H, W). Throws Error if one of the two has no pixels.
Shape resampled_shape(const Shape& image, const Attrs& attrs);

}  // namespace regrow
