// SPDX-License-Identifier: Apache-2.0
// A network learns to tell the two arms of a spiral apart: modules, gradients, an optimizer.
#include <regrow/regrow.h>

#include <cmath>
#include <iostream>
#include <vector>

namespace rg = regrow;
namespace nn = regrow::nn;

int main() {
  rg::seed(1);

  // 200 points, half on each arm; the label is 1 on the second.
  std::vector<float> points, labels;
  for (int i = 0; i < 200; ++i) {
    const float turn = 0.5f + 4.5f * static_cast<float>(i / 2) / 100, side = i % 2 ? -1.f : 1.f;
    points.insert(points.end(), {side * turn * std::cos(turn) / 5, side * turn * std::sin(turn) / 5});
    labels.push_back(static_cast<float>(i % 2));
  }
  rg::Tensor x = rg::tensor(std::span<const float>(points), {200, 2});
  rg::Tensor y = rg::tensor(std::span<const float>(labels), {200, 1});

  nn::Sequential net(nn::Linear(2, 32), nn::Tanh(), nn::Linear(32, 32), nn::Tanh(), nn::Linear(32, 1));
  rg::optim::Adam adam(net.parameters(), {.learning_rate = 0.01f});

  for (int step = 0; step <= 300; ++step) {
    rg::Tensor loss = rg::mean(rg::square(net(x) - y));
    adam.zero_grad();
    loss.backward();
    adam.step();
    // Asking for the loss waits for it; between two prints the program runs ahead of the engine.
    if (step % 100 == 0) std::cout << "step " << step << ": loss " << loss.item<float>() << "\n";
  }

  rg::NoGrad guard;
  rg::Tensor right = rg::mean(rg::astype((net(x) > 0.5f) == (y > 0.5f), rg::DType::f32));
  std::cout << "right: " << 100 * right.item<float>() << " %\n";
  return right.item<float>() > 0.95f ? 0 : 1;
}
