// SPDX-License-Identifier: Apache-2.0
// The ledger of memory: what lives, what was at most, giving memory back by hand, and a limit that is kept.
#include <regrow/regrow.h>

#include <iostream>
#include <vector>

namespace rg = regrow;

int main() {
  rg::Tensor a = rg::normal({512, 1024});
  rg::Tensor b = rg::exp(a);
  b.wait();
  std::cout << "live: " << rg::format_bytes(rg::memory().live_bytes) << "\n";

  // Given back, the value is computed again when it is needed, bit for bit.
  const std::vector<float> before = b.to_vector<float>();
  b.drop();
  std::cout << "after a drop: " << rg::format_bytes(rg::memory().live_bytes) << "\n";
  const bool same = b.to_vector<float>() == before;
  std::cout << "the same bits: " << same << ", recomputed: " << rg::memory().recomputed_ops << "\n";

  // A limit is never exceeded; what cannot fit is refused with what would do.
  rg::set_memory_budget(rg::MiB(16));
  bool refused = false;
  try {
    rg::ones({4096, 4096}).wait();
  } catch (const rg::OutOfBudget& error) {
    refused = true;
    std::cout << "refused: it needs " << rg::format_bytes(error.smallest_budget()) << "\n";
  }
  std::cout << "and everything still works: " << rg::sum(rg::ones({1000})) << "\n";
  rg::clear_memory_budget();
  return same && refused ? 0 : 1;
}
