// SPDX-License-Identifier: Apache-2.0
// Waits from many threads, back-pressure, and what may never block.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/runtime/gate.h"

namespace regrow {
namespace {

using namespace std::chrono_literals;

TEST(Waits, AnyNumberOfThreadsMayWaitForTheSameTensor) {
  Channel channel(Options{});
  Gate gate;
  gate.close_on(channel);
  const Handle x = put_large(channel, 1);
  const Handle y = apply_one(channel, op("add"), {x, x});
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 12; ++i)
    threads.emplace_back([&, i] {
      if (i % 3 == 0) right += channel.get_value(y).to_vector<float>()[63] == 128.f;
      else if (i % 3 == 1) channel.wait(y), ++right;
      else channel.sync(), ++right;
    });
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(right, 0);
  gate.open();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 12);
}

TEST(Waits, ThreadsMayIssueAndReadAtTheSameTime) {
  Channel channel(Options{});
  const Handle shared = put_large(channel, 1);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 50; ++round) {
        Handle mine = put_large(channel, static_cast<float>(t));
        for (int i = 0; i < 10; ++i) {
          const Handle next = apply_one(channel, op("add"), {mine, shared});
          channel.del(mine);
          mine = next;
        }
        const std::vector<float> values = channel.get_value(mine).to_vector<float>();
        for (std::size_t i = 0; i < values.size(); ++i)
          wrong += values[i] != static_cast<float>(t) + static_cast<float>(i) + 10 * (1 + static_cast<float>(i));
        channel.del(mine);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Waits, OfFailedTensorsEndEverywhere) {
  Channel channel(Options{});
  Gate gate;
  gate.close_on(channel);
  const Handle x = put_large(channel, 0);
  const Handle bad = apply_one(channel, op("take", {{"axis", 0}}), {x, channel.put(ints({99}))});
  const Handle worse = apply_one(channel, op("exp"), {bad});
  std::atomic<int> told = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&, i] {
      try {
        if (i % 2) channel.get_value(worse);
        else channel.get_dev_tensor(bad);
      } catch (const AsyncError&) {
        ++told;
      }
    });
  gate.open();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(told, 6);
}

TEST(Pressure, IssuingWaitsWhileTheQueueIsFullAndDeletesNeverDo) {
  Channel channel(Options{.lookahead = 4, .queue_commands = 50});
  Gate gate;
  gate.close_on(channel);
  std::vector<Handle> early;
  for (int i = 0; i < 20; ++i) early.push_back(put_large(channel, 0));
  std::atomic<int> issued = 0;
  std::thread issuer([&] {
    const Handle x = early[0];
    for (int i = 0; i < 200; ++i) apply_one(channel, op("negative"), {x}), ++issued;
  });
  for (int last = -1; last != issued;) last = issued, std::this_thread::sleep_for(30ms);
  EXPECT_LE(issued, 50);
  EXPECT_GT(issued, 10);
  for (int i = 1; i < 20; ++i) channel.del(early[static_cast<std::size_t>(i)]);  // would hang here
  gate.open();
  issuer.join();
  EXPECT_EQ(issued, 200);
  channel.sync();
}

TEST(Pressure, CountsTheBytesOfQueuedPuts) {
  Channel channel(Options{.queue_bytes = 1 << 20});
  Gate gate;
  gate.close_on(channel);
  std::atomic<int> put = 0;
  std::thread putter([&] {
    for (int i = 0; i < 40; ++i) put_large(channel, 0, 1 << 16), ++put;  // 256 KiB each
  });
  for (int last = -1; last != put;) last = put, std::this_thread::sleep_for(30ms);
  EXPECT_LE(put, 5);
  gate.open();
  putter.join();
  EXPECT_EQ(put, 40);
  // One put that is larger than the limit goes through when it is alone.
  EXPECT_EQ(channel.get_value(put_large(channel, 1, 1 << 20)).to_vector<float>()[9], 10.f);
}

TEST(Pressure, AQueueOfOneStillWorks) {
  Channel channel(Options{.lookahead = 32, .queue_commands = 1});
  Handle x = put_large(channel, 0);
  for (int i = 0; i < 100; ++i) x = apply_one(channel, op("add"), {x, x});
  channel.sync();
}

TEST(Waits, ALoneCommandIsRunWithoutBeingFlushed) {
  struct Executed : Observer {
    void on_event(const Event& event) override { count += event.kind == EventKind::op_execute_end; }
    std::atomic<int> count = 0;
  } executed;
  Channel channel(Options{});
  channel.observe(&executed);
  channel.start_profile();
  const Handle x = put_large(channel, 0);
  channel.sync();
  for (int i = 1; i <= 20; ++i) {
    std::this_thread::sleep_for(i % 2 ? 3ms : 0ms);  // the worker sleeps, or still spins
    apply_one(channel, op("negative"), {x});
    for (int tries = 0; executed.count < i && tries < 5000; ++tries) std::this_thread::sleep_for(1ms);
    ASSERT_EQ(executed.count, i);
  }
  channel.observe(nullptr);
}

TEST(Waits, AfterCloseEveryCallButDelAndCloseThrows) {
  Channel channel(Options{});
  const Handle x = put_large(channel, 0);
  channel.close();
  EXPECT_TRUE(channel.closed());
  EXPECT_THROW(put_large(channel, 0), Error);
  EXPECT_THROW(channel.apply_op(op("exp"), {x}), Error);
  EXPECT_THROW(channel.get_value(x), Error);
  EXPECT_THROW(channel.get_shape(x), Error);
  EXPECT_THROW(channel.get_dtype(x), Error);
  EXPECT_THROW(channel.get_dev_tensor(x), Error);
  EXPECT_THROW(channel.wait(x), Error);
  EXPECT_THROW(channel.sync(), Error);
  EXPECT_THROW(channel.drop(x), Error);
  EXPECT_THROW(channel.swap_in(x), Error);
  EXPECT_THROW(channel.memory(), Error);
  EXPECT_THROW(channel.seed(1), Error);
  EXPECT_THROW(channel.set_option("lookahead", 1), Error);
  EXPECT_THROW(channel.get_option("lookahead"), Error);
  EXPECT_THROW(channel.push_scope("a"), Error);
  EXPECT_THROW(channel.start_profile(), Error);
  channel.del(x);
  channel.close();
}

TEST(Waits, AThreadThatWaitsWhenTheChannelClosesGetsItsValue) {
  for (int round = 0; round < 20; ++round) {
    auto channel = std::make_unique<Channel>(Options{});
    Gate gate;
    gate.close_on(*channel);
    const Handle x = put_large(*channel, 3);
    std::atomic<bool> asked = false;
    float got = 0;
    std::thread waiter([&] {
      asked = true;
      try {
        got = channel->get_value(x).to_vector<float>()[0];
      } catch (const Error&) {
        got = -1;  // it came after the close
      }
    });
    while (!asked) std::this_thread::yield();
    std::thread opener([&] {
      std::this_thread::sleep_for(1ms);
      gate.open();
    });
    channel->close();
    waiter.join();
    opener.join();
    EXPECT_TRUE(got == 3.f || got == -1.f);
  }
}

}  // namespace
}  // namespace regrow
