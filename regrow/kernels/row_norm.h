// SPDX-License-Identifier: Apache-2.0
// Layer and RMS normalization of rows, and the adjoints: a row's statistics, in f64 and in two passes, are computed while it is
// in the cache, forward and again backward, so that nothing of them is kept. Re-entrant. Any thread. Bits depend on operands and
// shapes alone.
#pragma once

#include <cstddef>
#include <span>

#include "regrow/tensor/view.h"

namespace regrow::kernels {

// centered: (x - mean) / sqrt(variance + epsilon), otherwise x / sqrt(mean of squares + epsilon).
struct RowNorm {
  bool centered = true;
  double epsilon = 0;
};

// Rows are the last axes of x, as many as weight has. Tensors have any strides and floating types; x, grad and out share one.
// `bias` is null without center.

// out = normalized x times weight, plus bias.
std::size_t row_norm_workspace(const Desc& x, const Desc& weight, const Desc& out);
void row_norm(const RowNorm& how, const View& x, const View& weight, const View* bias, const View& out,
              std::span<std::byte> workspace);
// The gradients of x, weight and, centered, bias.
std::size_t row_norm_back_workspace(const Desc& grad, const Desc& x, const Desc& weight, const Desc& out);
void row_norm_back(const RowNorm& how, const View& grad, const View& x, const View& weight, const View& out,
                   const View& weight_out, const View* bias_out, std::span<std::byte> workspace);

}  // namespace regrow::kernels
