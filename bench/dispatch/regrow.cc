// SPDX-License-Identifier: Apache-2.0
#include <regrow/regrow.h>

#include "bench/dispatch/contender.h"

namespace bench {
namespace {

namespace rg = regrow;

void forward(int n, int size, const char* kind) {
  rg::NoGrad guard;
  rg::Tensor y = rg::full({size}, 1e-6f), z = rg::zeros({size});
  const std::string what = kind;
  if (what == "add") {
    for (int i = 0; i < n; ++i) z = z + y;
  } else if (what == "relu") {
    for (int i = 0; i < n; ++i) z = rg::relu(z);
  } else {
    for (int i = 0; i < n; ++i) z = z * 0.5f;
  }
  z.wait();
}

void backward(int n, int size, bool multiply) {
  rg::Tensor y = rg::full({size}, 1e-6f), w = rg::zeros({size}).requires_grad();
  rg::Tensor z = w + y;
  if (multiply) {
    for (int i = 0; i < n; ++i) z = z * y;
  } else {
    for (int i = 0; i < n; ++i) z = z + y;
  }
  rg::sum(z).backward();
  w.grad().wait();
}

void matmul(int n) {
  rg::NoGrad guard;
  rg::Tensor a = rg::full({8, 8}, 0.05f), z = rg::full({8, 8}, 0.1f);
  for (int i = 0; i < n; ++i) z = rg::matmul(z, a);
  z.wait();
}

}  // namespace

Contender regrow_contender(int threads) {
  rg::set_kernel_threads(threads);
  Contender contender{"regrow", "0.1.0", {}};
  for (int size : {1, 64}) {
    const std::string suffix = " [" + std::to_string(size) + "]";
    contender.cases.push_back({"z = z + y" + suffix, 20000, [=] { forward(20000, size, "add"); }});
    contender.cases.push_back({"z = relu(z)" + suffix, 20000, [=] { forward(20000, size, "relu"); }});
    contender.cases.push_back({"z = z * 0.5" + suffix, 20000, [=] { forward(20000, size, "scale"); }});
    contender.cases.push_back({"z = z + y, forward and backward" + suffix, 5000, [=] { backward(5000, size, false); }});
    contender.cases.push_back({"z = z * y, forward and backward" + suffix, 5000, [=] { backward(5000, size, true); }});
  }
  contender.cases.push_back({"z = matmul(z, a) [8, 8]", 5000, [] { matmul(5000); }});
  auto x = std::make_shared<rg::Tensor>(rg::uniform({1 << 20}));
  contender.cases.push_back({"relu(x * a + b) + x * 0.5 [1048576]", 20, [x] {
                               rg::NoGrad guard;
                               rg::Tensor y;
                               for (int i = 0; i < 20; ++i) y = rg::relu(*x * 1.5f + -0.3f) + *x * 0.5f;
                               y.wait();
                             }});
  return contender;
}

}  // namespace bench
