// SPDX-License-Identifier: Apache-2.0
#include "regrow/frontend/loss.h"

#include <tuple>

#include "regrow/frontend/call.h"

namespace regrow {

Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options, Site site) {
  using Key = std::tuple<std::string, std::optional<std::int64_t>, double>;
  static thread_local detail::RememberedOp<Key> remembered;
  const Op& applied = remembered.get(Key(options.reduction, options.ignore_index, options.label_smoothing), [&] {
    return op("cross_entropy",
              {{"reduction", options.reduction},
               {"ignore_index", options.ignore_index ? AttrValue(*options.ignore_index) : AttrValue()},
               {"label_smoothing", options.label_smoothing}},
              site);
  });
  if (options.weight.defined()) return detail::call_one(applied, {&logits, &targets, &options.weight}, site);
  return detail::call_one(applied, {&logits, &targets}, site);
}

}  // namespace regrow
