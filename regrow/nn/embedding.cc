// SPDX-License-Identifier: Apache-2.0
#include "regrow/nn/embedding.h"

#include "regrow/ops.h"

namespace regrow::nn {

Embedding::Embedding(std::int64_t count, std::int64_t width, const EmbeddingOptions& options, Site site) : options_(options) {
  Tensor table = normal({count, width}, {}, site);
  if (options.padding_idx) {
    const std::int64_t row = *options.padding_idx;
    if (row < -count || row >= count) fail_at(site, "Embedding: padding_idx {} is out of range for {} rows", row, count);
    table[row] = 0;
  }
  weight_ = add("weight", Parameter(table, site), site);
}

Tensor Embedding::operator()(const Tensor& indices, Site site) const {
  return embedding(weight_.value(), indices, {.padding_idx = options_.padding_idx}, site);
}

}  // namespace regrow::nn
