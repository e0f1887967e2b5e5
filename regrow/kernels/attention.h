// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention in blocks: softmax(scale q k^T + mask) v without ever holding all scores, and its gradient, which
// computes the scores again (Dao et al., "FlashAttention", 2022). Re-entrant. Any thread.
//
// Threads share the leading axes: the bits of a result depend on its own matrices alone, not on the number of threads. f16 and
// bf16 compute in f32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "regrow/kernels/random.h"
#include "regrow/tensor/view.h"

namespace regrow::kernels {

struct Attention {
  View q, k, v;               // (…, L, D), (…, S, D), (…, S, E), of one floating type and any strides; the leading axes are equal
  std::optional<View> mask{};  // broadcasts to (…, L, S): booleans, true where i may see j; or numbers of q's type, added to scores
  bool causal = false;        // i sees j <= i alone
  double scale = 1;
  // Weights whose word, counted row-major over (…, L, S), lies below are dropped, the others multiplied.
  std::uint64_t drop_below = 0;
  double keep_scale = 1;
  RandomStream stream{};
};

// Bytes for `attention` and `attention_back`, from the shapes and types alone; linear in L and S.
std::size_t attention_workspace(const Desc& q, const Desc& k, const Desc& v);
std::size_t attention_back_workspace(const Desc& q, const Desc& k, const Desc& v);

// out (…, L, E) and the logarithm of the sum of the exponentials of each row of scores, (…, L), in f32, of f64 in f64. A row that
// sees nothing is 0, and its logarithm -inf.
void attention(const Attention& a, const View& out, const View& log_sum, std::span<std::byte> workspace);
// The gradients of q, k and v from that of out, and from what `attention` gave.
void attention_back(const Attention& a, const View& grad, const View& out, const View& log_sum, const View& dq, const View& dk,
                    const View& dv, std::span<std::byte> workspace);

}  // namespace regrow::kernels
