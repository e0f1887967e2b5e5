// SPDX-License-Identifier: Apache-2.0
// What is compared: the same small programs, written for each engine. Every function runs its program `n` operations long, to the
// end, on the calling thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace bench {

struct Case {
  std::string name;   // the same in every contender
  int operations;     // of one run, for dividing
  std::function<void()> run;
};

struct Contender {
  std::string name;
  std::string version;
  std::vector<Case> cases;
};

Contender regrow_contender(int threads);
Contender libtorch_contender(int threads);  // defined where libtorch was found

}  // namespace bench
