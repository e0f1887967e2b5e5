// SPDX-License-Identifier: Apache-2.0
// Images resampled to another height and width, and the adjoint. Re-entrant. Any thread. An element's bits depend on its operands
// alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "regrow/tensor/view.h"

namespace regrow::kernels {

// nearest: pixel i of `out` pixels is pixel floor(i in / out). bilinear: pixel centres are aligned, or, with align_corners, those
// of the corner pixels; beyond the border its pixels go on.
struct Interpolation {
  bool bilinear = false, align_corners = false;
};

// x and out are (N, C, H, W) of one floating type and any strides.
std::size_t interpolate_workspace(const Desc& x, const Desc& out);
void interpolate(const Interpolation& how, const View& x, const View& out, std::span<std::byte> workspace);
// out, dense: for each pixel of the image, what of grad was taken from it.
std::size_t interpolate_back_workspace(const Desc& grad, const Desc& out);
void interpolate_back(const Interpolation& how, const View& grad, const View& out, std::span<std::byte> workspace);

}  // namespace regrow::kernels
