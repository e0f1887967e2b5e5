// SPDX-License-Identifier: Apache-2.0
// Why a trace needs the memory that it needs, and what a budget makes it do again. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "regrow/remat/trace.h"

namespace regrow::remat {

struct Explanation {
  struct Moment {
    std::size_t command = 0;
    std::string operation;  // name and outputs' bytes
    std::size_t pinned_bytes = 0, operands_bytes = 0, evictable_bytes = 0;
  };
  struct Standing {  // what one operator has made and is alive, at the peak
    std::string name;
    std::size_t tensors = 0, bytes = 0;
    double seconds = 0;  // to make it again
  };
  struct Again {  // by operator
    std::string name;
    std::uint64_t evictions = 0, runs = 0;
    double seconds = 0;
  };
  Moment peak;   // most bytes alive, without a budget
  Moment floor;  // most bytes that nothing can make fewer
  std::vector<Standing> standing;  // most bytes first
  std::vector<Again> again;        // most time first; empty without a budget
};

// `budget` 0: none. By next-use with its usual settings.
Explanation explain(const Trace& trace, std::size_t budget);

}  // namespace regrow::remat
