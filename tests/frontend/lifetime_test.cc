// SPDX-License-Identifier: Apache-2.0
// What tensors and the tape keep alive, read from the channel's ledger. Sizes by hand.
#include <gtest/gtest.h>

#include <thread>

#include "regrow/base/units.h"
#include "regrow/engine/default_channel.h"
#include "regrow/frontend/create.h"
#include "regrow/frontend/grad.h"
#include "regrow/ops.h"

namespace regrow {
namespace {

constexpr std::int64_t side = 512;  // 1 MiB of f32 a tensor
constexpr std::size_t megabyte = MiB(1);

std::size_t live() {
  sync();
  return memory().live_bytes;
}

constexpr std::size_t constants = 1024;  // literals, which the channel keeps: far less than any tensor here

TEST(Lifetimes, TemporariesGoAtOnce) {
  const std::size_t before = live();
  reset_peak_memory();
  Tensor x = ones({side, side});
  for (int i = 0; i < 50; ++i) x = tanh(x);
  x.wait();
  EXPECT_LE(memory().peak_bytes, before + 4 * megabyte);
  x = Tensor();
  EXPECT_LE(live(), before + constants);
}

TEST(Lifetimes, TheTapeKeepsWhatGradientsReadAndNoMore) {
  const std::size_t before = live();
  const Tensor w = ones({side, side}).requires_grad();
  Tensor y = w;
  for (int i = 0; i < 20; ++i) y = y + w;  // reads nothing
  EXPECT_LE(live(), before + 3 * megabyte);
  for (int i = 0; i < 20; ++i) y = tanh(y);  // reads its output
  EXPECT_GE(live(), before + 20 * megabyte);
}

TEST(Lifetimes, BackwardFreesTheGraphThoughTheLossIsKept) {
  const std::size_t before = live();
  const Tensor w = ones({side, side}).requires_grad();
  Tensor loss;
  {
    Tensor y = w;
    for (int i = 0; i < 20; ++i) y = tanh(y);
    loss = sum(y);
  }
  EXPECT_GE(live(), before + 20 * megabyte);
  reset_peak_memory();
  loss.backward();
  EXPECT_LE(live(), before + 3 * megabyte);                // w, its gradient, the loss
  EXPECT_LE(memory().peak_bytes, before + 26 * megabyte);  // falls from the first step on
  loss.item<float>();
}

TEST(Lifetimes, RetainedGraphsGoWithTheirOutput) {
  const std::size_t before = live();
  {
    const Tensor w = ones({side, side}).requires_grad();
    const Tensor loss = sum(tanh(tanh(w)));
    loss.backward({.retain_graph = true});
    EXPECT_GE(live(), before + 3 * megabyte);
  }
  EXPECT_LE(live(), before + constants);
}

TEST(Lifetimes, HigherOrdersLeaveNothingBehind) {
  const std::size_t before = live();
  {
    const Tensor x = ones({side, side}).requires_grad();
    const Tensor first = grad(sum(x * x * x), {x}, {.create_graph = true}).at(0);
    grad(sum(first), {x}, {.create_graph = true}).at(0).wait();
  }
  EXPECT_LE(live(), before + constants);
}

TEST(Lifetimes, LossesOfEveryStepCostNextToNothing) {
  const Tensor w = ones({side, side}).requires_grad();
  std::vector<Tensor> losses;
  auto step = [&] {
    losses.push_back(sum(tanh(w)));
    losses.back().backward();
    w.zero_grad();
  };
  step();
  const std::size_t before = live();
  for (int i = 0; i < 50; ++i) step();
  EXPECT_LE(live(), before + megabyte);
}

TEST(Lifetimes, PassesOfSeveralThreadsTakeTurns) {
  std::vector<std::thread> threads;
  const Tensor shared = full({8}, 2.0).requires_grad();
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const Tensor own = full({8}, 3.0).requires_grad();
        sum(own * shared).backward();
        EXPECT_EQ(own.grad()[0].item<double>(), 2.0);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared.grad()[7].item<double>(), 4 * 50 * 3.0);
}

}  // namespace
}  // namespace regrow
