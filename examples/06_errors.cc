// SPDX-License-Identifier: Apache-2.0
// Where errors appear: at once where shapes are wrong, at a wait where values are; what has nothing to do with it stays good.
#include <regrow/regrow.h>

#include <iostream>
#include <vector>

namespace rg = regrow;

int main() {
  // Wrong shapes are known before anything runs. The message names the line.
  try {
    rg::ones({2, 3}) + rg::ones({4});
  } catch (const rg::Error& error) {
    std::cout << "at once: " << error.what() << "\n";
  }

  // Whether an index is valid depends on its value, which is not known yet when the operation is issued.
  rg::Tensor table = rg::arange(10.f);
  rg::Tensor index = rg::tensor({3, 50});
  rg::Tensor taken = rg::take(table, index, {.axis = 0});  // returns at once
  rg::Tensor doubled = taken * 2;                          // depends on it
  rg::Tensor unrelated = table + 1;

  int caught = 0;
  for (const rg::Tensor& tensor : {taken, doubled}) {
    try {
      tensor.wait();
    } catch (const rg::AsyncError& error) {  // every wait on it throws; the error names the line of its origin
      std::cout << "at the wait: " << error.what() << "\n";
      ++caught;
    }
  }
  std::cout << "unrelated: " << unrelated << "\n";

  // The program goes on as before.
  rg::sync();
  const bool right = rg::sum(rg::take(table, rg::tensor({3, 5}), {.axis = 0})).item<float>() == 8;
  return caught == 2 && right ? 0 : 1;
}
