// SPDX-License-Identifier: Apache-2.0
// A warm training step asks the system for nothing: no heap on the worker, no mapping, no break, next to no page faults.
#include "tests/stress/steady_state.h"

namespace regrow {
namespace {

template <class Net>
std::function<Tensor()> training_step(Net& net, optim::Adam& adam, const Shape& input) {
  return [&net, &adam, input] {
    Tensor x = normal(input);
    Tensor y = full({input[0]}, 3, {.dtype = DType::i64});
    Tensor loss = cross_entropy(net(x), y);
    adam.zero_grad();
    loss.backward();
    adam.step();
    return loss;
  };
}

TEST(SteadyState, TrainingAnMlpAsksTheSystemForNothing) {
  nn::Sequential net(nn::Linear(784, 256), nn::ReLU(), nn::Dropout(0.1), nn::Linear(256, 10));
  optim::Adam adam(net.parameters(), {.learning_rate = 1e-3f});
  expect_nothing_asked(training_step(net, adam, {64, 784}));
}

TEST(SteadyState, TrainingACnnAsksTheSystemForNothing) {
  nn::Sequential net(nn::Conv2d(1, 16, 3, {.padding = 1}), nn::ReLU(), nn::MaxPool2d(2), nn::Conv2d(16, 32, 3, {.padding = 1}), nn::ReLU(),
                     nn::MaxPool2d(2), nn::Flatten(), nn::Linear(32 * 7 * 7, 10));
  optim::Adam adam(net.parameters(), {.learning_rate = 1e-3f});
  expect_nothing_asked(training_step(net, adam, {32, 1, 28, 28}));
}

TEST(SteadyState, MemoryIsFlatOverAHundredThousandSmallSteps) {
  Tensor w = normal({64}), average = zeros({64});
  std::vector<Tensor> losses;
  auto steps = [&](int n) {
    for (int i = 0; i < n; ++i) {
      Tensor x = normal({64});
      losses.push_back(sum(x * w));
      w = w - x * 1e-3f;
      average = average * 0.99f + w * 0.01f;
      if (losses.size() > 1000) losses.clear();
    }
    sync();
  };
  auto resident = [] {
    std::ifstream file("/proc/self/statm");
    long total = 0, pages = 0;
    file >> total >> pages;
    return pages * 4096;
  };
  steps(30'000);
  const long before = resident();
  const std::size_t committed = memory().committed_bytes;
  steps(100'000);
  EXPECT_LT(resident() - before, 8 << 20);
  EXPECT_EQ(memory().committed_bytes, committed);
}

}  // namespace
}  // namespace regrow
