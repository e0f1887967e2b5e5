// SPDX-License-Identifier: Apache-2.0
// Monotonic time. Any thread.
#pragma once

#include <chrono>
#include <cstdint>

namespace regrow {

// Nanoseconds since an arbitrary start; never goes back.
inline std::uint64_t now_ns() noexcept {
  using namespace std::chrono;
  return static_cast<std::uint64_t>(duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
}

}  // namespace regrow
