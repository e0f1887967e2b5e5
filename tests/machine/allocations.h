// SPDX-License-Identifier: Apache-2.0
// Counts what is allocated with operator new between the begin and the end of a scope. One thread.
#pragma once

namespace regrow::machine {

class CountAllocations {
 public:
  CountAllocations() noexcept { counting = true; }
  ~CountAllocations() { counting = false; }
  CountAllocations(const CountAllocations&) = delete;
  CountAllocations& operator=(const CountAllocations&) = delete;

  static inline bool counting = false;
  static inline int count = 0;
};

}  // namespace regrow::machine
