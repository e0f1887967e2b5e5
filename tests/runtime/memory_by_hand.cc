// SPDX-License-Identifier: Apache-2.0
// Dropping, swapping, handing out, devices, budgets: whatever is done to a tensor, its value comes back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/runtime/gate.h"

namespace regrow {
namespace {

using testing::HasSubstr;

Options by_hand() { return {.enable_drop = 1, .enable_swap = 1}; }

TEST(DropAndSwap, TheValueComesBackBitForBit) {
  Channel channel(by_hand());
  const Handle x = put_large(channel, 0);
  const Handle y =
      apply_one(channel, op("tanh"), {apply_one(channel, op("multiply"), {x, channel.put(HostArray::scalar(0.01, DType::f32))})});
  const std::vector<float> before = channel.get_value(y).to_vector<float>();
  channel.swap_out(y);
  EXPECT_GT(channel.memory().swapped_bytes, 0u);
  channel.swap_out(y);
  channel.swap_in(y);
  EXPECT_EQ(channel.memory().swapped_bytes, 0u);
  channel.swap_in(y);
  EXPECT_EQ(channel.get_value(y).to_vector<float>(), before);
  channel.drop(y);
  channel.drop(y);
  EXPECT_EQ(channel.memory().recomputed_ops, 0u);
  EXPECT_EQ(channel.get_value(y).to_vector<float>(), before);
  EXPECT_GT(channel.memory().recomputed_ops, 0u);
  channel.swap_out(y);
  channel.drop(y);
  EXPECT_EQ(channel.get_value(y).to_vector<float>(), before);
}

TEST(DropAndSwap, ActOnlyWhereTheOptionsSayOrWhenForced) {
  Channel channel(Options{});
  const Handle x = put_large(channel, 0);
  const Handle y = apply_one(channel, op("exp"), {x});
  channel.sync();
  const std::size_t live = channel.memory().live_bytes;
  channel.drop(y);
  channel.swap_out(y);
  EXPECT_EQ(channel.memory().live_bytes, live);
  EXPECT_EQ(channel.memory().swapped_bytes, 0u);
  channel.drop(y, true);
  EXPECT_LT(channel.memory().live_bytes, live);
  EXPECT_EQ(channel.get_value(y).to_vector<float>()[0], 1.f);
}

TEST(DropAndSwap, ADropOfWhatNothingCanComputeIsIgnored) {
  Channel channel(by_hand());
  const Handle x = put_large(channel, 5);
  channel.drop(x);
  EXPECT_EQ(channel.get_value(x).to_vector<float>()[1], 6.f);
  const Handle bad = apply_one(channel, op("take", {{"axis", 0}}), {x, channel.put(ints({99}))});
  channel.drop(bad);
  channel.swap_out(bad);
  channel.swap_in(bad);
  EXPECT_THROW(channel.get_value(bad), AsyncError);
}

TEST(DropAndSwap, AskingForTheShapeBringsNoValueBack) {
  Options options = by_hand();
  options.enable_host_compute = 0;
  Channel channel(options);
  const Handle x = put_large(channel, 0, 1 << 15), y = apply_one(channel, op("exp"), {x});
  channel.wait(y);
  const auto shape = [&] { return channel.get_value(apply_one(channel, op("shape_of"), {y})).to_vector<std::int64_t>(); };
  const std::size_t before = channel.memory().live_bytes;
  channel.drop(y);
  const Handle kept = apply_one(channel, op("shape_of"), {y});
  EXPECT_EQ(shape(), (std::vector<std::int64_t>{1 << 15}));
  EXPECT_EQ(channel.memory().recomputed_ops, 0u);
  EXPECT_LT(channel.memory().live_bytes, before);
  channel.swap_out(x);
  const std::size_t swapped = channel.memory().swapped_bytes;
  EXPECT_EQ(channel.get_value(apply_one(channel, op("shape_of"), {x})).to_vector<std::int64_t>()[0], 1 << 15);
  EXPECT_EQ(channel.memory().swapped_bytes, swapped);
  channel.drop(kept);  // nor does it when the shape itself is computed again
  EXPECT_EQ(channel.get_value(kept).to_vector<std::int64_t>()[0], 1 << 15);
  EXPECT_EQ(channel.memory().recomputed_ops, 1u);
  EXPECT_EQ(channel.memory().swapped_bytes, swapped);
}

TEST(DropAndSwap, TheShapeOfAPoisonedTensorIsPoisoned) {
  Channel channel(Options{.enable_host_compute = 0});
  const Handle bad = apply_one(channel, op("take", {{"axis", 0}}), {put_large(channel, 5), channel.put(ints({99}))});
  const Handle shape = apply_one(channel, op("shape_of"), {bad});
  channel.del(bad);
  EXPECT_THROW(channel.get_value(shape), AsyncError);
}

TEST(DropAndSwap, WithoutRecipesADropIsIgnored) {
  Channel channel(Options{.enable_drop = 1, .record_computing_path = 0});
  const Handle y = apply_one(channel, op("exp"), {put_large(channel, 0)});
  channel.drop(y);
  EXPECT_EQ(channel.get_value(y).to_vector<float>()[0], 1.f);
  EXPECT_EQ(channel.memory().recomputed_ops, 0u);
}

TEST(DropAndSwap, ViewsStridesAndRandomNumbersComeBackAsTheyWere) {
  Channel channel(by_hand());
  channel.seed(7);
  const Handle noise = apply_one(channel, op("normal", {{"shape", Dims{6, 8}}}), {});
  const Handle turned = apply_one(channel, op("permute_dims", {{"axes", Dims{1, 0}}}), {noise});
  const Handle doubled = apply_one(channel, op("add"), {turned, turned});
  const auto strides = channel.get_dev_tensor(doubled).desc().strides;
  const std::vector<float> first = channel.get_value(turned).to_vector<float>(), second = channel.get_value(doubled).to_vector<float>();
  for (int round = 0; round < 3; ++round) {
    channel.drop(noise);
    channel.drop(doubled);
    EXPECT_EQ(channel.get_value(doubled).to_vector<float>(), second);
    channel.swap_out(turned);
    channel.swap_out(doubled);
    EXPECT_EQ(channel.get_value(turned).to_vector<float>(), first);
    EXPECT_EQ(channel.get_dev_tensor(doubled).desc().strides, strides);
  }
}

TEST(DeviceTensors, LeaveAndEnterChannelsWithoutACopy) {
  Channel one(Options{}), two(Options{});
  const Handle x = put_large(one, 1);
  const Handle y = apply_one(one, op("add"), {x, x});
  DeviceTensor tensor = one.get_dev_tensor(y);
  EXPECT_EQ(HostArray::gather(tensor.view()).to_vector<float>()[3], 8.f);
  const Handle there = two.put(tensor);
  EXPECT_EQ(two.get_dev_tensor(there).data(), tensor.data());
  const Handle sum = apply_one(two, op("add"), {there, there});
  EXPECT_EQ(two.get_value(sum).to_vector<float>()[3], 16.f);
  one.del(y);
  one.del(x);
  const Handle other = put_large(one, 100);
  one.sync();
  EXPECT_EQ(two.get_value(apply_one(two, op("negative"), {there})).to_vector<float>()[3], -8.f);
  one.del(other);
  tensor = DeviceTensor();
  EXPECT_GT(one.memory().live_bytes, 0u);  // charged to its owner while it is lent
  two.del(there);
  two.sync();
  EXPECT_EQ(one.memory().live_bytes, 0u);
}

TEST(DeviceTensors, OutliveTheirChannelAndMayBeLetGoAnywhere) {
  DeviceTensor kept;
  {
    Channel channel(Options{});
    kept = channel.get_dev_tensor(apply_one(channel, op("exp"), {put_large(channel, 0)}));
    const DeviceTensor copy = kept;
    std::thread([moved = copy]() mutable { moved = DeviceTensor(); }).join();
  }
  EXPECT_EQ(HostArray::gather(kept.view()).to_vector<float>()[0], 1.f);
  Channel other(Options{});
  EXPECT_EQ(other.get_value(other.put(kept)).to_vector<float>()[0], 1.f);
}

TEST(DeviceTensors, AnExportedStorageIsNeitherDroppedNorWrittenInPlace) {
  Channel channel(by_hand());
  const Handle x = put_large(channel, 0);
  const Handle y = apply_one(channel, op("add"), {x, x});
  const DeviceTensor tensor = channel.get_dev_tensor(y);
  channel.drop(y);
  channel.swap_out(y);
  const Handle z = apply_one(channel, op("negative"), {y});
  channel.del(y);
  channel.sync();
  EXPECT_EQ(HostArray::gather(tensor.view()).to_vector<float>()[5], 10.f);
  EXPECT_EQ(channel.get_value(z).to_vector<float>()[5], -10.f);
}

TEST(Devices, HaveArenasOfTheirOwnAndMixWithAClearError) {
  Channel channel(Options{});
  const Handle here = put_large(channel, 1);
  const Handle there = apply_one(channel, op("copy_to", {{"device", Device(3)}}), {here});
  EXPECT_EQ(channel.get_device(there), Device("cpu:3"));
  const Handle sum = apply_one(channel, op("add"), {there, there});
  EXPECT_EQ(channel.get_value(sum).to_vector<float>()[0], 2.f);
  EXPECT_GT(channel.memory(Device(3)).live_bytes, 0u);
  EXPECT_EQ(channel.memory(Device(2)).committed_bytes, 0u);
  EXPECT_THAT(message_of([&] { channel.apply_op(op("add"), {here, there}); }),
              testing::AllOf(HasSubstr("add"), HasSubstr("cpu:0"), HasSubstr("cpu:3")));
  const Handle back = apply_one(channel, op("copy_to", {{"device", Device(0)}}), {sum});
  EXPECT_EQ(channel.get_value(apply_one(channel, op("add"), {back, here})).to_vector<float>()[0], 3.f);
}

TEST(Budget, RefusesWhatCannotFitSaysWhatWouldAndGoesOn) {
  Channel channel(Options{});
  channel.set_memory_budget(8 << 20);
  const Handle small = put_large(channel, 1);
  const Handle row = apply_one(channel, op("reshape", {{"shape", Dims{1, 64}}}), {small});
  const Handle huge = apply_one(channel, op("broadcast_to", {{"shape", Dims{65536, 64}}}), {row});
  const Handle sum = apply_one(channel, op("add"), {huge, huge});  // 16 MiB
  std::size_t would_do = 0;
  try {
    channel.wait(sum);
    FAIL();
  } catch (const OutOfBudget& error) {
    EXPECT_GE(error.required_bytes(), 16u << 20);
    EXPECT_GE(error.smallest_budget(), error.required_bytes());
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("add"), HasSubstr("memory_by_hand.cc"), HasSubstr("8.0 MiB")));
    would_do = error.smallest_budget();
  }
  EXPECT_LE(channel.memory().peak_committed_bytes, 8u << 20);
  EXPECT_EQ(channel.get_value(apply_one(channel, op("add"), {small, small})).to_vector<float>()[0], 2.f);
  EXPECT_NO_THROW(channel.sync());
  channel.set_memory_budget(would_do);
  EXPECT_NO_THROW(channel.wait(apply_one(channel, op("add"), {huge, huge})));
  channel.clear_memory_budget();
  EXPECT_EQ(channel.memory().budget_bytes, 0u);
}

TEST(Budget, BelowWhatIsHeldIsRefusedAndTheOldOneStays) {
  Channel channel(Options{});
  const Handle held = put_large(channel, 0, 1 << 20);
  channel.set_memory_budget(8 << 20);
  EXPECT_THROW(channel.set_memory_budget(1 << 20), OutOfBudget);
  EXPECT_EQ(channel.memory().budget_bytes, 8u << 20);
  EXPECT_EQ(channel.memory(Device(1)).budget_bytes, 0u);
  EXPECT_NO_THROW(channel.sync());
  channel.del(held);
  EXPECT_NO_THROW(channel.set_memory_budget(1 << 20));
  EXPECT_THROW(channel.set_memory_budget(0), Error);
}

TEST(Budget, ARefusedConstantIsTriedAgain) {
  Channel channel(Options{});
  const Handle held = put_large(channel, 0, (1 << 20) - 16384);
  channel.set_memory_budget(4 << 20);
  std::vector<Handle> more;
  for (bool refused = false; !refused;) {
    more.push_back(put_large(channel, 0, 1 << 14));
    try {
      channel.wait(more.back());
    } catch (const OutOfBudget&) {
      refused = true;
    }
  }
  const Handle first = channel.put(floats({1.25f}));
  const bool fits = message_of([&] { channel.wait(first); }).empty();
  channel.del(held);
  for (Handle handle : more) channel.del(handle);
  channel.sync();
  const Handle again = channel.put(floats({1.25f}));
  EXPECT_NO_THROW(channel.wait(again)) << fits;
}

TEST(Budget, HoldsTheWindowUntilLookaheadOrAWait) {
  Channel channel(Options{.lookahead = 8});
  channel.set_memory_budget(64 << 20);
  const Handle x = put_large(channel, 0);
  int calls = 0;
  channel.wait(x);
  apply_one(channel, op("negative"), {x});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  // Had the idle worker taken the window, the delete could not join the operation: in place shows that it did.
  const Handle y = apply_one(channel, op("add"), {x, x});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  channel.del(x);
  const std::size_t peak_before = (channel.wait(y), channel.memory().live_bytes);
  EXPECT_GT(peak_before, 0u);
  EXPECT_EQ(calls, 0);
}

TEST(InPlace, AResultTakesTheStorageOfAnInputThatDiesWithIt) {
  Channel channel(Options{});
  Gate gate;
  gate.close_on(channel);
  Handle x = put_large(channel, 0, 1 << 18);  // 1 MiB
  for (int i = 0; i < 6; ++i) {
    const Handle next = apply_one(channel, op("sum", {{"axis", Axes{0}}, {"keepdims", true}}), {x});
    const Handle y = apply_one(channel, op("subtract"), {x, next});
    channel.del(x);
    channel.del(next);
    x = y;
  }
  gate.open();
  channel.sync();
  EXPECT_LT(channel.memory().peak_bytes, (1u << 20) + (1u << 19));
}

TEST(InPlace, NeverWhileSomebodyCanSeeTheInput) {
  Channel channel(Options{});
  Gate gate;
  gate.close_on(channel);
  const Handle x = put_large(channel, 0, 1 << 12);
  const Handle base = apply_one(channel, op("add"), {x, x});
  const Handle view = apply_one(channel, op("slice", {{"start", Dims{4095}}, {"stop", Dims{-1}}, {"step", Dims{-1}}}), {base});
  const Handle both = apply_one(channel, op("subtract"), {base, view});  // reads one storage in two orders, and both die here
  channel.del(view);
  channel.del(base);
  gate.open();
  const std::vector<float> values = channel.get_value(both).to_vector<float>();
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], 2.f * static_cast<float>(i) - 2.f * static_cast<float>(4095 - i));
}

TEST(Memory, LiveBytesAreFlatOverManyPuts) {
  Channel channel(Options{});
  std::size_t early = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Handle x = put_large(channel, static_cast<float>(i), 256);
    channel.del(apply_one(channel, op("exp"), {x}));
    channel.del(x);
    if (i == 100) early = channel.memory().committed_bytes;
  }
  EXPECT_EQ(channel.memory().live_bytes, 0u);
  EXPECT_LE(channel.memory().committed_bytes, early + (1u << 20));
}

}  // namespace
}  // namespace regrow
