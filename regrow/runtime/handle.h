// SPDX-License-Identifier: Apache-2.0
// A channel's name for a tensor: checked in O(1), recognised as stale after del even when the slot is used again. Any thread.
#pragma once

#include <cstdint>

namespace regrow {

struct Handle {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;  // 0: no tensor
  explicit operator bool() const noexcept { return generation != 0; }
  friend bool operator==(Handle, Handle) = default;
};

}  // namespace regrow
