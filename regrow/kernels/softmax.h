// SPDX-License-Identifier: Apache-2.0
// Softmax along one axis, and its logarithm; the cross entropy of rows of logits. f16 and bf16 compute in f32. Re-entrant. Any
// thread. The bits of an element depend on its row alone, not on strides or threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "regrow/tensor/view.h"

namespace regrow::kernels {

enum class SoftmaxKind : std::uint8_t { probabilities, logarithms };

// out = exp(x - max) / sum exp(x - max) along `axis`, or (x - max) - log(sum exp(x - max)); a row of -inf alone gives NaN. x and
// out have one shape, any strides and one floating type. The axis of a scalar has one element.
std::size_t softmax_workspace(const Desc& x, int axis);
void softmax(SoftmaxKind kind, const View& x, int axis, const View& out, std::span<std::byte> workspace);

// Logits (rows, classes) of a floating type and the index of the right class of each row, of an integer type: a class, or
// ignored.
struct CrossEntropy {
  View logits, targets;
  double smoothing = 0;                   // this much of a target's weight is spread evenly over all classes
  std::optional<std::int64_t> ignored{};  // rows with this target do not count
  std::span<const double> weights{};      // of the classes; empty: all 1
  double total = 0;                       // of the weights, or the number of classes
};

std::size_t cross_entropy_workspace(const Desc& logits);
// losses[row] = (1 - smoothing) w[target] (-log p[target]) + smoothing mean(w (-log p)), p the softmax of the row, w the weights of
// the classes; 0 if it does not count.
void cross_entropy(const CrossEntropy& c, double* losses, std::span<std::byte> workspace);
// out[row] = factor scales[row] (p sum(q) - q), q the smoothed and weighted target; 0 if the row does not count. `scales` has the
// type of the logits and one element a row, or none but one. `out` is of the type and shape of the logits, any strides.
void cross_entropy_back(const CrossEntropy& c, const View& scales, double factor, const View& out,
                        std::span<std::byte> workspace);

}  // namespace regrow::kernels
