// SPDX-License-Identifier: Apache-2.0
// A warm training step asks the system for nothing: no heap on the worker, no mapping, no break, next to no page faults.
#include <gtest/gtest.h>
#include <regrow/regrow.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "regrow/kernels/dnnl_primitive.h"
#include "regrow/kernels/dnnl_primitive.h"
#include "tests/stress/malloc_counter.h"

namespace regrow {
namespace {

long minor_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

std::string mappings() {
  std::ifstream file("/proc/self/maps");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Ten steps, then the loss is read, as trainers do; so the caller runs ten steps ahead at most.
void ten_steps(const std::function<Tensor()>& step) {
  Tensor loss;
  for (int i = 0; i < 10; ++i) loss = step();
  loss.wait();
}

// Once the worker sleeps while ten steps are issued: after that, no other timing holds more commands or tensors at once.
void run_far_ahead(const std::function<Tensor()>& step) {
  const Op nap = callback_op("nap", [](std::span<const HostArray>) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return std::vector<HostArray>{};
  }, {.outputs = std::vector<CallbackOutput>{}});
  apply(nap, {});
  ten_steps(step);
}

// What 100 steps asked the system for; empty if nothing.
std::string asked_in_a_hundred_steps(const std::function<Tensor()>& step) {
  const std::string maps_before = mappings();
  mappings();
  const void* break_before = sbrk(0);
  const long faults_before = minor_faults();
  stress::excuse_allocations(kernels::dnnl::running);  // decision 007
  stress::count_allocations(true);
  for (int i = 0; i < 10; ++i) ten_steps(step);
  sync();
  stress::count_allocations(false);
  const long faults = minor_faults() - faults_before;
  const std::string maps_after = mappings();
  std::string asked;
  if (const auto count = stress::allocations_elsewhere(); count != 0) asked += std::to_string(count) + " heap allocations on the worker; ";
  if (sbrk(0) != break_before) asked += "the break moved; ";
  if (faults >= 100) asked += std::to_string(faults) + " page faults; ";
  if (maps_after != maps_before) asked += "mappings changed, before:\n" + maps_before + "after:\n" + maps_after;
  return asked;
}

// A buffer may find its final size late: how far callers and worker are apart is up to the scheduler. So the state is steady when one
// hundred steps in a row ask for nothing; what leaks asks in every hundred.
void expect_nothing_asked(const std::function<Tensor()>& step) {
  std::string asked;
  for (int hundred = 0; hundred < 10; ++hundred) {
    run_far_ahead(step);
    asked = asked_in_a_hundred_steps(step);
    if (hundred > 0 && asked.empty()) return;
  }
  ADD_FAILURE() << asked;
}

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
