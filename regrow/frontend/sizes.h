// SPDX-License-Identifier: Apache-2.0
// A list of sizes as users write it: {3, 2}, or 3 for one value that stands for every axis. Any thread.
#pragma once

#include <concepts>

#include "regrow/tensor/dims.h"

namespace regrow {

struct Sizes : Dims {
  constexpr Sizes() = default;
  constexpr Sizes(std::initializer_list<std::int64_t> values) : Dims(values) {}
  constexpr Sizes(const Dims& dims) : Dims(dims) {}  // NOLINT: any list of sizes
  template <std::integral T>
  constexpr Sizes(T size) : Dims{static_cast<std::int64_t>(size)} {}  // NOLINT: `.kernel = 2`
};

}  // namespace regrow
