// SPDX-License-Identifier: Apache-2.0
// A modelled disk for replays: evictions may write to it. Any thread.
#pragma once

#include <cstddef>

namespace regrow::remat {

struct Disk {
  double write_bytes_per_second = 0, read_bytes_per_second = 0;  // 0: there is none
  std::size_t staging_bytes = 0;                                 // that its buffer takes of the budget
  explicit operator bool() const noexcept { return write_bytes_per_second > 0 && read_bytes_per_second > 0; }
};

}  // namespace regrow::remat
