// SPDX-License-Identifier: Apache-2.0
// Random numbers are functions of a key, a counter and the element's index: the same seed gives the same bits, always.
#include <regrow/regrow.h>

#include <iostream>

namespace rg = regrow;

int main() {
  rg::seed(42);
  rg::Tensor noise = rg::normal({1000, 1000});
  rg::Tensor dice = rg::randint({12}, 1, 7);
  std::cout << "mean " << rg::mean(noise) << ", deviation " << rg::std(noise) << ", dice " << dice << "\n";

  // The same seed, the same numbers, in the order in which they are asked for.
  rg::seed(42);
  const bool again = rg::all(rg::normal({1000, 1000}) == noise).item<bool>();

  // The state is two numbers: it can be kept, and come back to.
  const rg::RandomState here = rg::default_channel().random_state();
  rg::Tensor first = rg::uniform({3});
  rg::default_channel().set_random_state(here);
  const bool back = rg::all(rg::uniform({3}) == first).item<bool>();

  // Dropout keeps no mask: what is dropped and recomputed is dropped in the same places.
  rg::Tensor thinned = rg::dropout(rg::ones({1000}), {.p = 0.5});
  rg::Tensor kept = rg::sum(thinned);
  thinned.drop();
  const bool same = rg::all(rg::sum(thinned) == kept).item<bool>();
  std::cout << "same after seeding: " << again << ", after coming back: " << back << ", after recomputing: " << same << "\n";
  return again && back && same ? 0 : 1;
}
