// SPDX-License-Identifier: Apache-2.0
// What came of replaying a trace. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace regrow::remat {

enum class Status : std::uint8_t { ok, infeasible, thrash };

inline constexpr double thrash_factor = 4;  // an operator time of more than this times the program's own: given up

struct Outcome {
  Status status = Status::ok;
  double seconds = 0;       // of operators, recomputations included, and of transfers
  double own_seconds = 0;   // of the program's operators
  std::uint64_t evictions = 0;
  std::uint64_t recomputed = 0;
  double transfer_seconds = 0;
  std::uint64_t spilled_bytes = 0;
  std::size_t peak_bytes = 0;
  double overhead() const noexcept { return own_seconds > 0 ? seconds / own_seconds - 1 : 0; }
};

}  // namespace regrow::remat
