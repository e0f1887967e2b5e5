// SPDX-License-Identifier: Apache-2.0
// A string usable as a template argument.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace regrow {

template <std::size_t N>
struct FixedString {
  char text[N]{};
  consteval FixedString(const char (&s)[N]) { std::copy_n(s, N, text); }  // NOLINT: op<"exp">
  constexpr std::string_view view() const { return {text, N - 1}; }
};

}  // namespace regrow
