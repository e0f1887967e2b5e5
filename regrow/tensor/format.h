// SPDX-License-Identifier: Apache-2.0
// Shapes and descriptors as arguments of `require` and `fail`: they become text only if the message is needed. Any thread.
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "regrow/tensor/desc.h"

template <>
struct fmt::formatter<regrow::Dims> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const regrow::Dims& dims, Context& context) const {
    return fmt::formatter<std::string_view>::format(regrow::to_string(dims), context);
  }
};

template <>
struct fmt::formatter<regrow::Desc> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const regrow::Desc& desc, Context& context) const {
    return fmt::formatter<std::string_view>::format(regrow::to_string(desc), context);
  }
};
