// SPDX-License-Identifier: Apache-2.0
// Attention, whose operator takes a mask that may be left out. Any thread.
#pragma once

#include <optional>

#include "regrow/frontend/tensor.h"

namespace regrow {

struct AttentionOptions {
  Tensor mask = {};                        // broadcasts to (…, L, S): booleans, true where i may see j; or numbers to add to the scores
  bool causal = false;                     // query i sees the keys j <= i alone
  double dropout = 0;                      // how likely a weight is dropped
  std::optional<double> scale = std::nullopt;  // of the scores; by default 1 / sqrt(D)
};
// softmax(scale q k^T + mask) v for queries (…, L, D), keys (…, S, D) and values (…, S, E). Memory grows with L and S, not with their
// product. A query that sees nothing gives 0. The axes of the result lie in memory as those of q.
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options = {},
                                    Site site = Site::here());

}  // namespace regrow
