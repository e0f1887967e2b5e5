// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/random.h"

#include <cmath>

namespace regrow::random {

void floating_dtype(std::span<const DType>, const Attrs& attrs, std::span<DType> out) {
  out[0] = attrs.get<DType>("dtype");
  require(is_floating(out[0]), "is not defined for {}: only for floating types", name_of(out[0]));
}

std::uint64_t word_threshold(double p) {
  require(p >= 0 && p <= 1, "a probability is at least 0 and at most 1, not {}", p);
  return static_cast<std::uint64_t>(std::ldexp(p, 32));
}

}  // namespace regrow::random
