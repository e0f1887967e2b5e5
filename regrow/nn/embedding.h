// SPDX-License-Identifier: Apache-2.0
// A table of vectors, read by index. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>

#include "regrow/nn/module.h"

namespace regrow::nn {

struct EmbeddingOptions {
  std::optional<std::int64_t> padding_idx = std::nullopt;  // this row starts as 0 and gets no gradient; negative: from the end
};

// Weight (count, width), drawn from N(0, 1), as PyTorch does.
class Embedding : public Module {
 public:
  Embedding(std::int64_t count, std::int64_t width, const EmbeddingOptions& options = {}, Site site = Site::here());
  // Indices of any shape (…); the result is (…, width).
  Tensor operator()(const Tensor& indices, Site site = Site::here()) const;
  const Parameter& weight() const noexcept { return weight_; }

 private:
  EmbeddingOptions options_;
  Parameter weight_;
};

}  // namespace regrow::nn
