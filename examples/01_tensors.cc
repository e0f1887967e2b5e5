// SPDX-License-Identifier: Apache-2.0
// Tensors are values: make them, compute with them, look at them. Everything runs in the background until a value is asked for.
#include <regrow/regrow.h>

#include <iostream>

namespace rg = regrow;

int main() {
  // Two rows of three. Literals beside a tensor take its type.
  rg::Tensor a = rg::tensor({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}});
  rg::Tensor b = rg::exp(a * 0.5f) - 1;
  std::cout << "exp(a / 2) - 1 =\n" << b << "\n";

  // Shapes broadcast; reductions name their axes.
  rg::Tensor centred = a - rg::mean(a, {.axis = 0, .keepdims = true});
  std::cout << "each column less its mean =\n" << centred << "\n";

  // A slice is a snapshot: what is done to `a` later does not show in it.
  rg::Tensor row = a[1];
  a[1] = 0;
  std::cout << "row 1 was " << row << " and is now " << a[1] << "\n";

  // Where the shape depends on the data it is known once the value is.
  std::cout << "larger than 1: " << rg::masked_select(b, b > 1) << "\n";

  // A mistake is reported at the line that makes it, before anything runs.
  try {
    rg::matmul(rg::ones({3, 4}), rg::ones({5, 6}));
  } catch (const rg::Error& error) {
    std::cout << "refused: " << error.what() << "\n";
  }
  std::cout << rg::format_bytes(rg::memory().peak_bytes) << " of tensors at most\n";
}
