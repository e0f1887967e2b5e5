// SPDX-License-Identifier: Apache-2.0
// Normalization of tensors (N, C, ...) by channel or by groups of channels, and the adjoints. Statistics are f64: sums of
// distances from an element of the sample itself, so that cancellation costs a factor of at most the number of elements in f64's
// rounding error. Re-entrant. Any thread. Bits depend on operands and shapes alone.
#pragma once

#include <cstddef>
#include <span>

#include "regrow/tensor/view.h"

namespace regrow::kernels {

// Tensors have any strides and element types as said; those of channels are (C,), of any floating type and stride.

// out = (x - mean) / sqrt(variance + epsilon) weight + bias; mean and variance of each channel, f64 (C,), contiguous.
std::size_t batch_norm_workspace(const Desc& x, const Desc& out);
void batch_norm(const View& x, const View& weight, const View& bias, double epsilon, const View& out, const View& mean,
                const View& variance, std::span<std::byte> workspace);
// The gradients of x, weight and bias; mean and variance depend on x.
std::size_t batch_norm_back_workspace(const Desc& grad, const Desc& x, const Desc& out);
void batch_norm_back(const View& grad, const View& x, const View& weight, const View& mean, const View& variance, double epsilon,
                     const View& out, const View& weight_out, const View& bias_out, std::span<std::byte> workspace);

// The same with the mean and variance of each of `groups` slices of the channels of each image.
std::size_t group_norm_workspace(const Desc& x, const Desc& out);
void group_norm(const View& x, const View& weight, const View& bias, std::int64_t groups, double epsilon, const View& out,
                std::span<std::byte> workspace);
std::size_t group_norm_back_workspace(const Desc& grad, const Desc& x, const Desc& out);
void group_norm_back(const View& grad, const View& x, const View& weight, std::int64_t groups, double epsilon, const View& out,
                     const View& weight_out, const View& bias_out, std::span<std::byte> workspace);

}  // namespace regrow::kernels
