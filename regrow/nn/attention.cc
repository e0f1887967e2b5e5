// SPDX-License-Identifier: Apache-2.0
#include "regrow/nn/attention.h"

#include "regrow/frontend/attention.h"
#include "regrow/frontend/create.h"
#include "regrow/frontend/derived.h"
#include "regrow/nn/initializer.h"

namespace regrow::nn {

MultiHeadAttention::MultiHeadAttention(std::int64_t width, std::int64_t heads, const MultiHeadAttentionOptions& options, Site site)
    : width_(width), heads_(heads), dropout_(options.dropout), out_(width, width, {.bias = options.bias}, site) {
  if (heads < 1 || width < 1 || width % heads != 0)
    fail_at(site, "MultiHeadAttention: {} heads do not divide a width of {}", heads, width);
  if (!(dropout_ >= 0 && dropout_ < 1)) fail_at(site, "MultiHeadAttention: the probability {} is not in [0, 1)", dropout_);
  in_weight_ = add("in_proj_weight", Parameter(xavier_uniform({3 * width, width}, 1, site), site), site);
  if (options.bias) {
    in_bias_ = add("in_proj_bias", Parameter(zeros({3 * width}, {}, site), site), site);
    out_.bias().set_value(zeros({width}, {}, site), site);
  }
  add("out_proj", out_, site);
}

// (N, L, E) as (N, heads, L, D), a view.
Tensor MultiHeadAttention::heads_of(const Tensor& x, Site site) const {
  const Shape shape = x.shape(site);
  return permute_dims(x.reshape({shape[0], shape[1], heads_, width_ / heads_}, site), {0, 2, 1, 3}, site);
}

Tensor MultiHeadAttention::attend(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionCallOptions& options,
                                  Site site) const {
  const Tensor mixed = scaled_dot_product_attention(
      heads_of(q, site), heads_of(k, site), heads_of(v, site),
      {.mask = options.mask, .causal = options.causal, .dropout = training() ? dropout_ : 0}, site);
  return out_(permute_dims(mixed, {0, 2, 1, 3}, site).reshape(q.shape(site), site), site);
}

Tensor MultiHeadAttention::operator()(const Tensor& x, const AttentionCallOptions& options, Site site) const {
  if (x.rank(site) != 3) fail_at(site, "MultiHeadAttention: inputs have the shape (N, L, E), not {}", to_string(x.shape(site)));
  const Tensor all = linear(x, in_weight_.value(), in_bias_.defined() ? in_bias_.value() : Tensor(), site);
  const std::vector<Tensor> parts = split(all, 3, {.axis = 2}, site);
  return attend(parts[0], parts[1], parts[2], options, site);
}

Tensor MultiHeadAttention::operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                                      const AttentionCallOptions& options, Site site) const {
  const Tensor* inputs[] = {&query, &key, &value};
  const std::vector<Tensor> weights = split(in_weight_.value(), 3, {}, site);
  std::vector<Tensor> biases(3), projected;
  if (in_bias_.defined()) biases = split(in_bias_.value(), 3, {}, site);
  for (std::size_t i = 0; i < 3; ++i) {
    if (inputs[i]->rank(site) != 3)
      fail_at(site, "MultiHeadAttention: inputs have the shape (N, L, E), not {}", to_string(inputs[i]->shape(site)));
    projected.push_back(linear(*inputs[i], weights[i], biases[i], site));
  }
  return attend(projected[0], projected[1], projected[2], options, site);
}

}  // namespace regrow::nn
