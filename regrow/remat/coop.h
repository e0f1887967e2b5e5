// SPDX-License-Identifier: Apache-2.0
// Coop (Zhang et al., NeurIPS 2023), for comparison: what goes is a window of neighbours in memory that is large enough and costs the
// least, cost / time since the last use summed over it. Every choice looks at all that stands there. One thread.
#pragma once

#include <vector>

#include "regrow/remat/dtr.h"

namespace regrow::remat {

class CoopPolicy final : public DtrEqPolicy {
 public:
  CoopPolicy() : DtrEqPolicy(true) {}
  StorageId victim(std::uint8_t device, std::size_t bytes) override;

 private:
  struct Block {
    std::uint64_t begin, end;
    StorageId id;
    bool may_go;
    double cost;
  };
  void collect(std::uint8_t device);
  void choose_window(std::size_t bytes);

  std::vector<Block> blocks_;        // by address
  std::vector<StorageId> window_;    // victims still to be named
};

}  // namespace regrow::remat
