// SPDX-License-Identifier: Apache-2.0
#include <torch/torch.h>

#include "bench/dispatch/contender.h"

namespace bench {
namespace {

void forward(int n, int size, const std::string& what) {
  torch::NoGradGuard guard;
  auto y = torch::full({size}, 1e-6f), z = torch::zeros({size});
  if (what == "add") {
    for (int i = 0; i < n; ++i) z = z + y;
  } else if (what == "relu") {
    for (int i = 0; i < n; ++i) z = torch::relu(z);
  } else {
    for (int i = 0; i < n; ++i) z = z * 0.5;
  }
}

void backward(int n, int size, bool multiply) {
  auto y = torch::full({size}, 1e-6f), w = torch::zeros({size}, torch::requires_grad());
  auto z = w + y;
  if (multiply) {
    for (int i = 0; i < n; ++i) z = z * y;
  } else {
    for (int i = 0; i < n; ++i) z = z + y;
  }
  z.sum().backward();
}

void matmul(int n) {
  torch::NoGradGuard guard;
  auto a = torch::full({8, 8}, 0.05f), z = torch::full({8, 8}, 0.1f);
  for (int i = 0; i < n; ++i) z = torch::mm(z, a);
}

}  // namespace

Contender libtorch_contender(int threads) {
  at::set_num_threads(threads);
  Contender contender{"libtorch", TORCH_VERSION, {}};
  for (int size : {1, 64}) {
    const std::string suffix = " [" + std::to_string(size) + "]";
    contender.cases.push_back({"z = z + y" + suffix, 20000, [=] { forward(20000, size, "add"); }});
    contender.cases.push_back({"z = relu(z)" + suffix, 20000, [=] { forward(20000, size, "relu"); }});
    contender.cases.push_back({"z = z * 0.5" + suffix, 20000, [=] { forward(20000, size, "scale"); }});
    contender.cases.push_back({"z = z + y, forward and backward" + suffix, 5000, [=] { backward(5000, size, false); }});
    contender.cases.push_back({"z = z * y, forward and backward" + suffix, 5000, [=] { backward(5000, size, true); }});
  }
  contender.cases.push_back({"z = matmul(z, a) [8, 8]", 5000, [] { matmul(5000); }});
  auto x = torch::rand({1 << 20});
  contender.cases.push_back({"relu(x * a + b) + x * 0.5 [1048576]", 20, [x] {
                               torch::NoGradGuard guard;
                               for (int i = 0; i < 20; ++i) auto y = torch::relu(x * 1.5 + -0.3) + x * 0.5;
                             }});
  return contender;
}

}  // namespace bench
