// SPDX-License-Identifier: Apache-2.0
// Faults that users of other engines reported, tried on a channel. The numbers are those of docs/faults.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>

#include "regrow/base/units.h"
#include "tests/runtime/gate.h"

namespace regrow {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::size_t resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmRSS:") return status >> word, std::stoul(word) * 1024;
  return 0;
}

// B005: whatever the next touch of the stream is, it is one catchable error at most, and the stream goes on.
TEST(Faults, AFailureMeetsWhicheverTouchComesFirst) {
  const auto fresh = [](auto&& touch) {
    Channel channel(Options{});
    const Handle x = put_large(channel, 0);
    const Handle bad = apply_one(channel, op("take", {{"axis", 0}}), {x, channel.put(ints({99}))});
    touch(channel, bad);
    EXPECT_EQ(channel.get_value(apply_one(channel, op("add"), {x, x})).to_vector<float>()[3], 6.f);
  };
  fresh([](Channel& channel, Handle bad) {
    EXPECT_THROW(channel.get_value(bad), AsyncError);
    EXPECT_NO_THROW(channel.sync());
  });
  fresh([](Channel& channel, Handle) {
    EXPECT_THROW(channel.sync(), AsyncError);
    EXPECT_NO_THROW(channel.sync());
  });
  fresh([](Channel& channel, Handle) {  // B001: named, though nobody reads the result
    EXPECT_THAT(message_of([&] { channel.sync(); }), AllOf(HasSubstr("take"), HasSubstr("faults.cc")));
  });
  fresh([](Channel&, Handle) {});
  fresh([](Channel& channel, Handle bad) { channel.del(bad); });
}

// B011: the third of ten fails; the tenth is read.
TEST(Faults, TheMessageNamesTheOperationThatFailedAndNotTheOneThatWasRead) {
  Channel channel(Options{});
  Handle x = put_large(channel, 0);
  int line = 0;
  for (int i = 1; i <= 10; ++i) {
    line = i == 3 ? __LINE__ + 1 : line;
    if (i == 3) x = apply_one(channel, op("take", {{"axis", 0}}), {x, channel.put(ints({7, 1000}))});
    else x = apply_one(channel, op("negative"), {x});
  }
  const std::string text = message_of([&] { channel.get_value(x); });
  EXPECT_THAT(text, AllOf(HasSubstr("take"), HasSubstr("1000"), HasSubstr("f32(64,)"), HasSubstr("i64(2,)")));
  EXPECT_THAT(text, AllOf(HasSubstr("faults.cc:" + std::to_string(line)), Not(HasSubstr("negative"))));
}

#if defined(__SANITIZE_THREAD__)
constexpr std::size_t memory_factor = 5;  // of every byte it keeps four of its own
#else
constexpr std::size_t memory_factor = 1;
#endif

// B010: much faster issued than run, the stream stays as long as it may be.
TEST(Faults, AHalfMillionCommandsBehindASlowOneTakeNoMemory) {
  Channel channel(Options{});
  const Handle x = put_large(channel, 1);
  channel.sync();
  const std::size_t before = resident_bytes();
  const Op slow = callback_op("slow", [](std::span<const HostArray>) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return std::vector<HostArray>();
  }, {.outputs = std::vector<CallbackOutput>{}});
  std::size_t most = 0;
  Handle y = apply_one(channel, op("negative"), {x});
  for (int i = 0; i < 500'000; ++i) {
    if (i % 100'000 == 0) channel.apply_op(slow, {});
    const Handle next = apply_one(channel, op("negative"), {y});
    channel.del(y);
    y = next;
    if (i % 10'000 == 0) most = std::max(most, resident_bytes());
  }
  EXPECT_EQ(channel.get_value(y).to_vector<float>()[1], -2.f);
  // The fault takes 220 MiB. Huge pages and sanitizers take more than the commands do.
  EXPECT_LT(most, before + MiB(128) * memory_factor);
}

// B035: a value is what the host's was at the call, whatever its size.
TEST(Faults, WritingToTheHostBufferAfterwardsChangesNothing) {
  for (std::size_t count : {1u, 4u, 33u, 1000u, 100'000u, 1'000'000u}) {
    Channel channel(Options{});
    Gate gate;
    gate.close_on(channel);
    std::vector<float> buffer(count, 3.f);
    const Handle t = channel.put(HostArray::from(buffer, Shape{static_cast<std::int64_t>(count)}), {.no_cache = true});
    const Handle y = apply_one(channel, op("add"), {t, t});
    std::fill(buffer.begin(), buffer.end(), 7.f);
    gate.open();
    const std::vector<float> doubled = channel.get_value(y).to_vector<float>(), kept = channel.get_value(t).to_vector<float>();
    EXPECT_EQ(std::count(doubled.begin(), doubled.end(), 6.f), static_cast<std::ptrdiff_t>(count));
    EXPECT_EQ(std::count(kept.begin(), kept.end(), 3.f), static_cast<std::ptrdiff_t>(count));
  }
}

// B036: every way to the bytes waits for what makes them.
TEST(Faults, EveryRouteToTheValueWaitsForIt) {
  const Op slow = callback_op("slow", [](std::span<const HostArray> in) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    return std::vector<HostArray>(in.begin(), in.end());
  });
  for (int route = 0; route < 5; ++route) {
    Channel channel(Options{.enable_swap = 1}), other(Options{});
    const Handle x = put_large(channel, 5);
    const Handle y = apply_one(channel, op("add"), {apply_one(channel, slow, {x}), x});
    float first = 0;
    if (route == 0) first = channel.get_value(y).to_vector<float>()[0];
    if (route == 1) first = *reinterpret_cast<const float*>(channel.get_dev_tensor(y).data());
    if (route == 2) first = HostArray::gather(channel.get_dev_tensor(y).view()).to_vector<float>()[0];
    if (route == 3) first = other.get_value(other.put(channel.get_dev_tensor(y))).to_vector<float>()[0];
    if (route == 4) channel.wait(y), channel.swap_out(y), first = channel.get_value(y).to_vector<float>()[0];
    EXPECT_EQ(first, 10.f) << route;
  }
}

// B053: sequences of varying length fit in any order, since free pages make any block.
TEST(Faults, TheOrderOfBatchSizesDoesNotDecideWhetherTheyFit) {
  std::vector<std::int64_t> sizes(40);
  std::iota(sizes.begin(), sizes.end(), 1);
  std::vector<std::int64_t> descending(sizes.rbegin(), sizes.rend()), shuffled = sizes;
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(1));
  for (const auto& order : {sizes, descending, shuffled}) {
    Channel channel(Options{});
    channel.set_memory_budget(MiB(12));
    for (std::int64_t size : order) {
      const Handle x = apply_one(channel, op("full", {{"shape", Dims{size, 1 << 14}}, {"value", Scalar(1.5)}}), {});  // 64 KiB each
      const Handle y = apply_one(channel, op("exp"), {x});
      channel.del(x);
      const Handle z = apply_one(channel, op("sum"), {y});
      channel.del(y);
      channel.del(z);
    }
    EXPECT_NO_THROW(channel.sync());
    EXPECT_LE(channel.memory().peak_committed_bytes, MiB(12));
  }
  Channel channel(Options{});
  channel.set_memory_budget(MiB(2));
  const Handle large = apply_one(channel, op("full", {{"shape", Dims{1 << 20}}, {"value", Scalar(1.5)}}), {});
  EXPECT_THAT(message_of([&] { channel.wait(large); }), AllOf(HasSubstr("4.0 MiB"), HasSubstr("budget"), HasSubstr("2.0 MiB")));
  const MemoryReport report = channel.memory();  // and what an allocator may say besides
  EXPECT_EQ(report.live_bytes, 0u);
  EXPECT_LE(report.largest_hole_bytes, report.committed_bytes);
}

// B055: many shapes leave a bounded stock of free pages, and a budget takes it back.
TEST(Faults, ManyShapesDoNotPileUpFreeMemory) {
  Channel channel(Options{});
  for (int round = 0; round < 3; ++round) {
    for (std::int64_t k = 1; k <= 50; ++k) {
      const Handle x = apply_one(channel, op("full", {{"shape", Dims{k * 7919}}, {"value", Scalar(1.5)}}), {});
      const Handle y = apply_one(channel, op("exp"), {x});
      channel.del(x);
      channel.del(y);
    }
  }
  const MemoryReport report = channel.memory();
  EXPECT_EQ(report.live_bytes, 0u);
  EXPECT_LE(report.committed_bytes, report.peak_bytes * 3 / 2 + MiB(4));
  channel.set_memory_budget(64 << 10);
  EXPECT_LE(channel.memory().committed_bytes, std::size_t{64} << 10);
}

// B057: a view keeps its base, and says so; a copy does not.
TEST(Faults, ASliceKeepsItsBaseUntilItIsCopied) {
  Channel channel(Options{});
  const Handle x = put_large(channel, 0, 1 << 20);
  const Handle slice = apply_one(channel, op("slice", {{"start", Dims{5}}, {"stop", Dims{15}}, {"step", Dims{1}}}), {x});
  channel.del(x);
  EXPECT_GE(channel.memory().live_bytes, MiB(4));
  const Handle copy = apply_one(channel, op("copy"), {slice});
  channel.del(slice);
  EXPECT_LE(channel.memory().live_bytes, 1024u);
  EXPECT_EQ(channel.get_value(copy).to_vector<float>()[0], 5.f);
}

// B044: a callback that holds what it made, and is held by nothing else.
TEST(Faults, ACallbackThatKeepsItsOwnOutputIsNoLeak) {
  Channel channel(Options{});
  const Handle x = put_large(channel, 0, 1 << 18);
  channel.sync();
  const std::size_t before = channel.memory().live_bytes;
  std::weak_ptr<DeviceTensor> watch;
  {
    auto kept = std::make_shared<DeviceTensor>();
    watch = kept;
    const Op keeps = callback_op("keeps", [kept](std::span<const HostArray> in) { return std::vector<HostArray>(in.begin(), in.end()); });
    const Handle y = apply_one(channel, keeps, {x});
    *kept = channel.get_dev_tensor(y);
    channel.del(y);
  }
  channel.sync();
  EXPECT_TRUE(watch.expired());
  channel.sync();  // what it held was let go on the worker
  EXPECT_EQ(channel.memory().live_bytes, before);
}

// megengine.md 8.3: eviction while a reader pins the tensor. Reads, drops and swaps of one tensor from several threads.
TEST(Faults, ReadersAndThoseWhoMoveATensorDoNotMeet) {
  Channel channel(Options{.enable_drop = 1, .enable_swap = 1});
  const Handle x = put_large(channel, 0, 1 << 12);
  const Handle y = apply_one(channel, op("negative"), {x});
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        if (t == 0) channel.drop(y);
        else if (t == 1) channel.swap_out(y);
        else if (channel.get_value(y).to_vector<float>()[4095] != -4095.f) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace regrow
