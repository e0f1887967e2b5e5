// SPDX-License-Identifier: Apache-2.0
// Attention of several heads, with its projections. One thread at a time.
#pragma once

#include <cstdint>

#include "regrow/nn/linear.h"
#include "regrow/nn/module.h"

namespace regrow::nn {

struct MultiHeadAttentionOptions {
  bool bias = true;
  double dropout = 0;  // of the weights, in training
};

struct AttentionCallOptions {
  Tensor mask = {};     // broadcasts to (N, heads, L, S): booleans, true where i may see j, or numbers to add
  bool causal = false;  // query i sees the keys j <= i alone
};

// Parameters named and drawn as PyTorch's MultiheadAttention: in_proj_weight (3 E, E), of queries, keys and values one below the
// other, in_proj_bias (3 E,), out_proj.weight (E, E), out_proj.bias (E,).
class MultiHeadAttention : public Module {
 public:
  MultiHeadAttention(std::int64_t width, std::int64_t heads, const MultiHeadAttentionOptions& options = {}, Site site = Site::here());
  // Of x (N, L, E) to itself: one product gives queries, keys and values.
  Tensor operator()(const Tensor& x, const AttentionCallOptions& options = {}, Site site = Site::here()) const;
  // Of queries (N, L, E) to keys and values (N, S, E).
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionCallOptions& options = {},
                    Site site = Site::here()) const;

 private:
  Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionCallOptions& options, Site site) const;
  Tensor heads_of(const Tensor& x, Site site) const;

  std::int64_t width_, heads_;
  double dropout_;
  Parameter in_weight_, in_bias_;
  Linear out_;
};

}  // namespace regrow::nn
