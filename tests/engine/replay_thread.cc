// SPDX-License-Identifier: Apache-2.0
// Steps are replayed beside the program, and its policy goes on with what came of it.
#include "regrow/engine/replay_thread.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "regrow/base/units.h"
#include "tests/runtime/gate.h"

namespace regrow {
namespace {

using namespace std::chrono_literals;

void step(Channel& channel, Handle x, int width) {
  std::vector<Handle> kept;
  for (int i = 0; i < width; ++i) kept.push_back(apply_one(channel, op(i % 2 ? "tanh" : "sin"), {x}));
  for (int i = width - 1; i > 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    const Handle sum = apply_one(channel, op("add"), {kept[at], kept[at - 1]});
    channel.del(kept[at]);
    channel.del(kept[at - 1]);
    kept[at - 1] = sum;
  }
  channel.wait(kept[0]);
  channel.del(kept[0]);
  channel.end_step();
}

// Steps until the replays have led to `installed` tunings, at most five minutes.
std::uint64_t steps_until(Channel& channel, const ReplayThread& replays, Handle x, int width, std::uint64_t installed) {
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t steps = 0;
  while (replays.report().installed < installed && std::chrono::steady_clock::now() - begin < 300s) {
    step(channel, x, width);
    ++steps;
    std::this_thread::sleep_for(5ms);  // a replay takes time of its own
  }
  return steps;
}

TEST(ReplayThread, TunesAProgramThatRepeatsItself) {
  Channel channel(Options{});
  const Handle x = put_large(channel, 0.f, 1 << 16);
  channel.set_memory_budget(MiB(2));
  const auto replays = ReplayThread::start(channel);
  steps_until(channel, *replays, x, 16, 1);
  step(channel, x, 16);
  ASSERT_GE(replays->report().installed, 1u);
  EXPECT_GT(channel.memory().tuned_step, 0u);
  EXPECT_GT(replays->report().replays, 0u);
  EXPECT_GT(replays->report().cpu_seconds, 0);
}

TEST(ReplayThread, LeavesAProgramAloneThatNeverRepeatsItself) {
  Channel channel(Options{});
  const Handle x = put_large(channel, 0.f, 1 << 16);
  channel.set_memory_budget(MiB(2));
  const auto replays = ReplayThread::start(channel);
  for (int width = 4; width < 40; ++width) step(channel, x, width);
  EXPECT_EQ(replays->report().replays, 0u);
  EXPECT_EQ(channel.memory().tuned_step, 0u);
}

TEST(ReplayThread, EndsWhileItWaitsAndAfterItsChannelIsClosed) {
  Channel channel(Options{});
  ReplayThread::start(channel)->end();
  const auto replays = ReplayThread::start(channel);
  channel.close();
  replays->end();
  EXPECT_EQ(replays->report().installed, 0u);
}

}  // namespace
}  // namespace regrow
