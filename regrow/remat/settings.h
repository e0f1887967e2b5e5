// SPDX-License-Identifier: Apache-2.0
// What the policy next-use can be set to. Any thread.
#pragma once

#include <cstdint>
#include <vector>

namespace regrow::remat {

// Score: weight x cost^beta / (bytes x (time to the next use)^alpha).
struct NextUseSettings {
  double alpha = 0.5, beta = 1;
  struct Weight {
    std::uint64_t key;  // of operator, attributes and shapes: for what such operations make
    double factor;
  };
  std::vector<Weight> weights = {};  // 1 for all others
};

}  // namespace regrow::remat
