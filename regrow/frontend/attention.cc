// SPDX-License-Identifier: Apache-2.0
#include "regrow/frontend/attention.h"

#include <tuple>

#include "regrow/frontend/call.h"

namespace regrow {

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options, Site site) {
  using Key = std::tuple<bool, double, std::optional<double>>;
  static thread_local detail::RememberedOp<Key> remembered;
  const Op& applied = remembered.get(Key(options.causal, options.dropout, options.scale), [&] {
    return op("scaled_dot_product_attention",
              {{"causal", options.causal},
               {"dropout", options.dropout},
               {"scale", options.scale ? AttrValue(*options.scale) : AttrValue()}},
              site);
  });
  Tensor out[2];
  if (options.mask.defined()) detail::call_fixed(applied, {&q, &k, &v, &options.mask}, out, site);
  else detail::call_fixed(applied, {&q, &k, &v}, out, site);
  return out[0];
}

}  // namespace regrow
