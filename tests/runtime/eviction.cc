// SPDX-License-Identifier: Apache-2.0
// With a budget, what is not needed soon goes and is computed again: the same bits in less memory, by whatever policy and
// options.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "regrow/base/units.h"
#include "regrow/remat/policies.h"
#include "tests/runtime/gate.h"

namespace regrow {
namespace {

constexpr std::int64_t rows = 1024, columns = 64;  // of each activation: 256 KiB
constexpr int layers = 24;

// Every activation is wanted twice, once now and once on the way back, as in training.
std::vector<float> forth_and_back(Channel& channel) {
  std::vector<float> weights(columns * columns);
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = 0.001f * static_cast<float>(static_cast<int>(i * 7919 % 251) - 125);
  const Handle w = channel.put(floats(weights, {columns, columns}), {.no_cache = true});
  const Handle input = channel.put(floats(std::vector<float>(rows * columns, 0.5f), {rows, columns}), {.no_cache = true});
  Handle x = input;
  std::vector<Handle> kept;
  for (int layer = 0; layer < layers; ++layer) {
    const Handle product = apply_one(channel, op("matmul"), {x, w});
    x = apply_one(channel, op("tanh"), {product});
    channel.del(product);
    kept.push_back(x);
  }
  Handle gradient = apply_one(channel, op("add"), {x, x});
  for (int layer = layers; layer-- > 0;) {
    const Handle scaled = apply_one(channel, op("multiply"), {gradient, kept[static_cast<std::size_t>(layer)]});
    const Handle next = apply_one(channel, op("matmul"), {scaled, w});
    for (Handle each : {scaled, gradient, kept[static_cast<std::size_t>(layer)]}) channel.del(each);
    gradient = next;
  }
  const std::vector<float> values = channel.get_value(gradient).to_vector<float>();
  for (Handle each : {gradient, w, input}) channel.del(each);
  return values;
}

struct Unlimited {
  std::vector<float> values;
  std::size_t peak = 0;
};
const Unlimited& unlimited() {
  static const Unlimited run = [] {
    Channel channel(Options{});
    Unlimited it{.values = forth_and_back(channel)};
    it.peak = channel.memory().peak_bytes;
    return it;
  }();
  return run;
}

std::size_t share_of_peak(double share) { return static_cast<std::size_t>(share * static_cast<double>(unlimited().peak)); }

TEST(Eviction, TheSameBitsInLessMemoryAtEveryLevelAndLookahead) {
  for (const double share : {0.8, 0.4}) {
    for (std::size_t level : {0, 1, 2}) {
      for (std::size_t lookahead : {0, 32}) {
        Channel channel(Options{.async_level = level, .lookahead = lookahead});
        channel.set_memory_budget(share_of_peak(share));
        for (int round = 0; round < 2; ++round) EXPECT_EQ(forth_and_back(channel), unlimited().values);
        const MemoryReport report = channel.memory();
        EXPECT_LE(report.peak_bytes, share_of_peak(share));
        EXPECT_LE(report.peak_committed_bytes, share_of_peak(share));
        EXPECT_GT(report.recomputed_ops, 0u);
        EXPECT_GT(report.evictions, 0u);
      }
    }
  }
}

TEST(Eviction, ByEachPolicy) {
  for (std::string_view name : remat::policies) {
    Channel channel(Options{});
    channel.set_option("policy", name);
    channel.set_memory_budget(share_of_peak(0.5));
    EXPECT_EQ(forth_and_back(channel), unlimited().values) << name;
    EXPECT_GT(channel.memory().evictions, 0u) << name;
  }
}

TEST(Eviction, PoliciesMayChangeInTheMidstOfThings) {
  Channel channel(Options{});
  channel.set_memory_budget(share_of_peak(0.4));
  for (std::string_view name : remat::policies) {
    channel.set_option("policy", name);
    EXPECT_EQ(forth_and_back(channel), unlimited().values) << name;
  }
}

TEST(Eviction, ABudgetThatDoesNotBindEvictsNothing) {
  Channel channel(Options{});
  channel.set_memory_budget(2 * unlimited().peak);
  EXPECT_EQ(forth_and_back(channel), unlimited().values);
  EXPECT_EQ(channel.memory().evictions, 0u);
  EXPECT_EQ(channel.memory().recomputed_ops, 0u);
}

TEST(Eviction, IsOffWhereTheOptionSaysSoAndOnAgain) {
  Channel channel(Options{.enable_auto_evict = 0});
  channel.set_memory_budget(share_of_peak(0.5));
  EXPECT_THROW(forth_and_back(channel), OutOfBudget);
  EXPECT_EQ(channel.memory().evictions, 0u);
  channel.set_option("enable_auto_evict", 1);
  EXPECT_EQ(forth_and_back(channel), unlimited().values);
}

TEST(Eviction, KeepsBelowTheThresholdWhereItCan) {
  Channel channel(Options{});
  channel.set_memory_budget(2 * unlimited().peak);
  channel.set_option("eviction_threshold", share_of_peak(0.5));
  EXPECT_EQ(forth_and_back(channel), unlimited().values);
  EXPECT_LE(channel.memory().peak_bytes, share_of_peak(0.5));
  EXPECT_GT(channel.memory().evictions, 0u);
  channel.set_option("eviction_threshold", MiB(1) / 4);  // less than one operation needs: no reason to refuse it
  EXPECT_EQ(forth_and_back(channel), unlimited().values);
}

TEST(Eviction, SparesWhatIsSmallerThanTheMinimum) {
  Channel channel(Options{.evictee_minimum_size = rows * columns * sizeof(float) + 1});
  channel.set_memory_budget(share_of_peak(0.5));
  EXPECT_THROW(forth_and_back(channel), OutOfBudget);
  EXPECT_EQ(channel.memory().evictions, 0u);
  channel.set_option("evictee_minimum_size", rows * columns * sizeof(float));
  EXPECT_EQ(forth_and_back(channel), unlimited().values);
}

// Small values stand between large ones in memory, and next to them in the graph.
TEST(Eviction, SparesSmallNeighboursOfWhatGoesByEachPolicy) {
  const auto run = [](Channel& channel) {
    std::vector<Handle> large = {put_large(channel, -0.5f, 1 << 16)}, small;
    for (int i = 0; i < 12; ++i) {
      small.push_back(apply_one(channel, op("slice", {{"start", Dims{0}}, {"stop", Dims{100}}, {"step", Dims{1}}}), {large.back()}));
      small.push_back(apply_one(channel, op("negative"), {small.back()}));
      small.push_back(apply_one(channel, op("sum"), {large.back()}));
      large.push_back(apply_one(channel, op("add"), {large.back(), small.back()}));
      large.push_back(apply_one(channel, op("tanh"), {large.back()}));
    }
    std::vector<std::vector<float>> values;
    for (const auto* handles : {&large, &small})
      for (Handle each : *handles) values.push_back(channel.get_value(each).to_vector<float>());
    return values;
  };
  Channel whole(Options{});
  const auto expected = run(whole);
  for (std::size_t policy = 0; policy < std::size(remat::policies); ++policy) {
    Channel channel(Options{.evictee_minimum_size = KiB(16), .policy = policy});
    channel.set_memory_budget(MiB(2));
    EXPECT_EQ(run(channel), expected) << remat::policies[policy];
    EXPECT_GT(channel.memory().evictions, 0u) << remat::policies[policy];
  }
}

TEST(Eviction, ASmallerBudgetTakesEffectByEvictions) {
  Channel channel(Options{});
  channel.set_memory_budget(MiB(64));
  const Handle x = put_large(channel, 0.5f, 1 << 16);
  std::vector<Handle> values;
  for (int i = 0; i < 32; ++i) values.push_back(apply_one(channel, op("exp"), {x}));
  channel.sync();
  ASSERT_GT(channel.memory().live_bytes, MiB(8));
  channel.set_memory_budget(MiB(2));
  EXPECT_LE(channel.memory().committed_bytes, MiB(2));
  const std::vector<float> first = channel.get_value(values[0]).to_vector<float>();
  EXPECT_EQ(channel.get_value(values[31]).to_vector<float>(), first);
}

TEST(Eviction, TakesNoExportedStorageAndBringsViewsBackWithTheirs) {
  Channel channel(Options{});
  channel.set_memory_budget(MiB(4));
  const Handle x = put_large(channel, 1.f, 1 << 17);  // 512 KiB
  const Handle kept = apply_one(channel, op("negative"), {x});
  const DeviceTensor outside = channel.get_dev_tensor(kept);
  const Handle doubled = apply_one(channel, op("add"), {x, x});
  const Handle view = apply_one(channel, op("reshape", {{"shape", Dims{2, 1 << 16}}}), {doubled});
  channel.del(doubled);
  std::vector<Handle> crowd;
  for (int i = 0; i < 20; ++i) crowd.push_back(apply_one(channel, op("negative"), {x}));
  channel.sync();
  ASSERT_GT(channel.memory().evictions, 10u);
  EXPECT_EQ(reinterpret_cast<const float*>(outside.data())[2], -3.f);
  EXPECT_EQ(outside.data(), channel.get_dev_tensor(kept).data());
  const std::vector<float> values = channel.get_value(view).to_vector<float>();
  EXPECT_EQ(values[0], 2.f);
  EXPECT_EQ(values[(1 << 17) - 1], 2.f * (1 << 17));
}

TEST(Eviction, ByHandAndByPolicyTogether) {
  Channel channel(Options{.enable_drop = 1, .enable_swap = 1});
  channel.set_memory_budget(share_of_peak(0.5));
  const Handle x = put_large(channel, 3.f, 1 << 16);
  const Handle dropped = apply_one(channel, op("add"), {x, x}), swapped = apply_one(channel, op("multiply"), {x, x});
  channel.drop(dropped);
  channel.swap_out(swapped);
  EXPECT_EQ(forth_and_back(channel), unlimited().values);
  channel.swap_in(swapped);
  EXPECT_EQ(forth_and_back(channel), unlimited().values);
  EXPECT_EQ(channel.get_value(dropped).to_vector<float>()[1], 8.f);
  EXPECT_EQ(channel.get_value(swapped).to_vector<float>()[1], 16.f);
}

TEST(Verify, NamesTheOperatorThatGivesOtherBitsThanTheFirstTime) {
  Channel channel(Options{.verify = 1});
  const Handle x = put_large(channel, 1.f), y = apply_one(channel, op("negative"), {x});
  channel.wait(y);
  channel.drop(y, true);
  EXPECT_EQ(channel.get_value(y).to_vector<float>()[0], -1.f);
  channel.drop(y, true);
  const DeviceTensor source = channel.get_dev_tensor(x);
  const_cast<float*>(reinterpret_cast<const float*>(source.data()))[0] = 7.f;  // as a fault of the hardware would
  const std::string text = message_of([&] { channel.get_value(y); });
  EXPECT_THAT(text, testing::HasSubstr("negative: run again, it gave other bits"));
}

// A chain dropped whole comes back in the room of a few of its tensors.
TEST(Eviction, TenThousandOperatorsAreRunAgainInTheRoomOfAFewTensors) {
  Channel channel(Options{.lookahead = 0});
  channel.set_memory_budget(MiB(4));
  std::vector<Handle> chain{put_large(channel, 0.f, 1 << 15)};  // 128 KiB
  for (int i = 0; i < 10'000; ++i) chain.push_back(apply_one(channel, op("negative"), {chain.back()}));
  channel.sync();
  for (Handle each : chain) channel.drop(each, true);
  channel.reset_peak_memory();
  EXPECT_EQ(channel.get_value(chain.back()).to_vector<float>()[5], 5.f);
  EXPECT_LE(channel.memory().peak_bytes, MiB(4));
  EXPECT_GE(channel.memory().recomputed_ops, 10'000u);
}

}  // namespace
}  // namespace regrow
