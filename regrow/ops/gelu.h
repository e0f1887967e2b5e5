// SPDX-License-Identifier: Apache-2.0
// The attribute of gelu and of its gradient. Any thread.
#pragma once

#include "regrow/ops/elementwise.h"

namespace regrow {

inline std::vector<AttrSpec> gelu_attributes() {
  return {{.name = "approximate",
           .type = AttrType::text,
           .fallback = std::string("none"),
           .doc = "none: by the error function; tanh: x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2."}};
}

// Throws Error on another word.
inline bool gelu_by_tanh(const Attrs& attrs) {
  const std::string& word = attrs.get<std::string>("approximate");
  require(word == "none" || word == "tanh", "approximate is none or tanh, not '{}'", word);
  return word == "tanh";
}

inline void gelu_dtypes(std::span<const DType> in, const Attrs& attrs, std::span<DType> out) {
  (void)gelu_by_tanh(attrs);  // checks
  elementwise::floating(in, attrs, out);
}

}  // namespace regrow
