// SPDX-License-Identifier: Apache-2.0
// Shapes that depend on values: the program goes on without knowing them, until it asks.
#include <regrow/regrow.h>

#include <iostream>
#include <vector>

namespace rg = regrow;

int main() {
  rg::seed(5);
  rg::Tensor scores = rg::uniform({6, 4}).requires_grad();

  // How many are above one half is not known yet; what follows is queued all the same.
  rg::Tensor high = rg::masked_select(scores, scores > 0.5f);
  rg::Tensor spread = rg::max(high) - rg::min(high);
  std::vector<rg::Tensor> places = rg::nonzero(scores > 0.9f);  // of each such element the row, and the column

  // shape() of such a result waits.
  std::cout << rg::to_string(high.shape()) << " of 24 are above one half, they spread over " << spread << "\n";
  std::cout << "above 0.9: rows " << places[0] << ", columns " << places[1] << "\n";

  // Gradients flow through the selection.
  rg::sum(rg::square(high)).backward();
  const rg::Tensor expected = rg::where(scores > 0.5f, 2 * scores, 0);
  return rg::all(scores.grad() == expected).item<bool>() ? 0 : 1;
}
