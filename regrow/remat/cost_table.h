// SPDX-License-Identifier: Apache-2.0
// What a run of an operator on operands of some shapes is expected to take: measured times, smoothed. One thread.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>

namespace regrow::remat {

class CostTable {
 public:
  // Takes a measurement and returns what is expected now. The first counts whole; one that a disturbance has stretched counts for a
  // quarter, and so do those after it.
  double add(std::uint64_t key, double seconds) {
    if (costs_.size() >= most_keys) costs_.clear();  // shapes that never return
    const auto [found, first] = costs_.try_emplace(key, seconds);
    if (!first) found->second += (seconds - found->second) * weight;
    return found->second;
  }
  // 0 if it never ran.
  double expected(std::uint64_t key) const {
    const auto found = costs_.find(key);
    return found == costs_.end() ? 0 : found->second;
  }
  std::size_t size() const noexcept { return costs_.size(); }

 private:
  static constexpr double weight = 0.25;
  static constexpr std::size_t most_keys = 1u << 16;
  absl::flat_hash_map<std::uint64_t, double> costs_;
};

}  // namespace regrow::remat
