// SPDX-License-Identifier: Apache-2.0
// Losses whose operators take inputs that may be left out. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "regrow/frontend/tensor.h"

namespace regrow {

struct CrossEntropyOptions {
  Tensor weight = {};                                      // (C,), of the classes; no gradient flows to it
  std::string reduction = "mean";                          // none: a loss for each row; sum; mean: over the rows that count
  std::optional<std::int64_t> ignore_index = std::nullopt;  // rows with this target do not count
  double label_smoothing = 0;                              // in [0, 1]: this much of a target is spread evenly over all classes
};
// The cross entropy between the softmax of logits (N, C) and the classes targets (N,), as PyTorch computes it. The mean is over the
// weights of the targets that count: NaN if none does. A target that is no class is an error of the value.
Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options = {}, Site site = Site::here());

}  // namespace regrow
