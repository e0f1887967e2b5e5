// SPDX-License-Identifier: Apache-2.0
// What the caller's side knows without the worker: shape arithmetic, constants. And what it cannot know: shapes that depend on data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/runtime/gate.h"

namespace regrow {
namespace {

using testing::HasSubstr;

// Everything here runs while the worker stands still: whatever would wait for it would hang.
TEST(HostCompute, ShapeArithmeticNeverWaitsForTheWorker) {
  Channel channel(Options{});
  const Handle x = channel.put(HostArray::from(std::vector<float>(24, 1.f), {2, 3, 4}), {.no_cache = true});
  Gate gate;
  gate.close_on(channel);
  const Handle big = apply_one(channel, op("add"), {x, x});  // has not run, but its shape is known
  const Handle shape = apply_one(channel, op("shape_of"), {big});
  EXPECT_EQ(channel.get_value(shape).to_vector<std::int64_t>(), (std::vector<std::int64_t>{2, 3, 4}));
  const Handle tail = apply_one(channel, op("slice", {{"start", Dims{2}}, {"stop", Dims{0}}, {"step", Dims{-1}}}), {shape});
  const Handle factors = channel.put(ints({2, 1}));
  const Handle wanted = apply_one(channel, op("multiply"), {tail, factors});
  HostArray value;
  ASSERT_TRUE(channel.host_value(wanted, value));
  EXPECT_EQ(value.to_vector<std::int64_t>(), (std::vector<std::int64_t>{8, 3}));
  EXPECT_EQ(channel.get_value(apply_one(channel, op("less"), {wanted, factors})).to_vector<bool>(), (std::vector<bool>{false, false}));
  channel.wait(wanted);
  channel.drop(wanted);
  channel.del(wanted);
  gate.open();
  channel.sync();
  EXPECT_EQ(channel.memory().operators, 2u);  // the gate and `big`
}

TEST(HostCompute, AResultIsAnOrdinaryTensorForTheWorkerStridesIncluded) {
  for (std::size_t enabled : {0, 1}) {
    Channel channel(Options{.enable_host_compute = enabled});
    const Handle x = channel.put(ints({1, 2, 3, 4, 5, 6}), {.no_cache = true});
    const Handle odd = apply_one(channel, op("slice", {{"start", Dims{5}}, {"stop", Dims{-1}}, {"step", Dims{-2}}}), {x});
    const Handle twice = apply_one(channel, op("add"), {odd, odd});
    const DeviceTensor view = channel.get_dev_tensor(odd);
    EXPECT_EQ(view.desc().strides, Strides{-2});
    EXPECT_EQ(HostArray::gather(view.view()).to_vector<std::int64_t>(), (std::vector<std::int64_t>{6, 4, 2}));
    const Handle real = apply_one(channel, op("cast", {{"dtype", DType::f32}}), {twice});
    EXPECT_EQ(channel.get_value(real).to_vector<float>(), (std::vector<float>{12, 8, 4}));
    EXPECT_EQ(channel.get_dev_tensor(twice).desc().strides, channel.get_desc(twice).strides);
  }
}

TEST(HostCompute, AFailureEntersTheStreamAsAPoisonedValue) {
  for (std::size_t enabled : {0, 1}) {
    Channel channel(Options{.enable_host_compute = enabled});
    const Handle x = channel.put(ints({1, 2, 3}));
    const Handle bad = apply_one(channel, op("take", {{"axis", 0}}), {x, channel.put(ints({7}))});
    const std::string text = message_of([&] { channel.get_value(bad); });
    EXPECT_THAT(text, HasSubstr("take"));
    EXPECT_THAT(text, HasSubstr("7"));
    EXPECT_THAT(text, HasSubstr("known_values.cc"));
    EXPECT_THROW(channel.get_value(apply_one(channel, op("add"), {bad, x})), AsyncError);
  }
}

TEST(HostCompute, CanBeSwitchedOff) {
  Channel channel(Options{.enable_host_compute = 0});
  const Handle x = channel.put(ints({1, 2}));
  const Handle sum = apply_one(channel, op("add"), {x, x});
  HostArray value;
  EXPECT_FALSE(channel.host_value(sum, value));
  EXPECT_EQ(channel.get_value(sum).to_vector<std::int64_t>(), (std::vector<std::int64_t>{2, 4}));
  EXPECT_EQ(channel.memory().operators, 1u);
}

TEST(DynamicShapes, AreKnownOnceTheValueIs) {
  Channel channel(Options{});
  const Handle x = channel.put(floats({0, 3, 0, 5, 7, 0}, {2, 3}), {.no_cache = true});
  const std::vector<Handle> index = channel.apply_op(op("nonzero"), {x});
  ASSERT_EQ(index.size(), 2u);
  EXPECT_EQ(channel.get_shape(index[1]), Shape{3});
  EXPECT_EQ(channel.get_value(index[0]).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 1}));
  EXPECT_EQ(channel.get_value(index[1]).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 0, 1}));
}

TEST(DynamicShapes, GoOnThroughOperatorsViewsAndReductions) {
  Channel channel(Options{});
  const Handle x = put_large(channel, 0);
  const Handle mask = apply_one(channel, op("greater"), {x, channel.put(HostArray::scalar(59, DType::f32))});
  const Handle some = apply_one(channel, op("masked_select"), {x, mask});  // 60 … 63
  const Handle wide = apply_one(channel, op("reshape", {{"shape", Dims{2, 2}}}), {some});
  const Handle turned = apply_one(channel, op("permute_dims", {{"axes", Dims{1, 0}}}), {wide});
  const Handle sum = apply_one(channel, op("sum", {{"axis", Axes{1}}}), {turned});
  EXPECT_FALSE(channel.get_desc(sum).known);
  EXPECT_EQ(channel.get_value(sum).to_vector<float>(), (std::vector<float>{122, 124}));
  EXPECT_EQ(channel.get_shape(turned), (Shape{2, 2}));
  EXPECT_EQ(channel.get_value(apply_one(channel, op("shape_of"), {some})).to_vector<std::int64_t>(), std::vector<std::int64_t>{4});
}

// Which of the caller's tensors share a storage shows in the number of live ones.
std::size_t live(Channel& channel) { return channel.memory().live_tensors; }

TEST(Constants, EqualSmallOnesShareOneStorage) {
  Channel channel(Options{});
  const Handle a = channel.put(floats({1, 2, 3}));
  const Handle b = channel.put(floats({1, 2, 3}));
  EXPECT_NE(a, b);
  EXPECT_EQ(live(channel), 1u);
  EXPECT_EQ(channel.get_dev_tensor(a).data(), channel.get_dev_tensor(b).data());
  channel.del(a);
  EXPECT_THROW(channel.get_value(a), Error);
  EXPECT_EQ(channel.get_value(b).to_vector<float>(), (std::vector<float>{1, 2, 3}));
  channel.del(b);
  EXPECT_EQ(live(channel), 0u);
  EXPECT_EQ(channel.memory().live_bytes, 0u);  // what only the cache holds is nobody's
  EXPECT_EQ(channel.get_value(channel.put(floats({1, 2, 3}))).to_vector<float>(), (std::vector<float>{1, 2, 3}));
}

TEST(Constants, NoCacheBypassesAndDifferencesOfAnyKindSeparate) {
  Channel channel(Options{});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  channel.put(floats({1, 2}));
  channel.put(floats({1, 2}), {.no_cache = true});
  channel.put(floats({1, 2}, {2, 1}));
  channel.put(floats({1, 2}), {.device = Device(1)});
  channel.put(floats({0}));
  channel.put(floats({-0.f}));
  channel.put(HostArray::from(std::vector<std::int32_t>{0}, {1}));
  EXPECT_EQ(live(channel), 7u);
  channel.put(floats({nan}));
  const Handle again = channel.put(floats({nan}));
  EXPECT_EQ(live(channel), 8u);
  EXPECT_TRUE(std::isnan(channel.get_value(again).item<float>()));
  EXPECT_TRUE(std::signbit(channel.get_value(channel.put(floats({-0.f}))).item<float>()));
  for (int i = 0; i < 2; ++i) channel.put(HostArray::from(std::vector<float>(17, 1.f), {17}));  // 68 bytes: too large to share
  EXPECT_EQ(live(channel), 10u);
}

TEST(Constants, AreNeverWrittenInPlace) {
  Channel channel(Options{});
  const Handle a = channel.put(floats({1, 2}));
  const Handle sum = apply_one(channel, op("add"), {a, a});
  channel.del(a);
  channel.sync();
  EXPECT_EQ(channel.get_value(channel.put(floats({1, 2}))).to_vector<float>(), (std::vector<float>{1, 2}));
  const Handle again = apply_one(channel, op("negative"), {channel.put(floats({1, 2}))});
  EXPECT_EQ(channel.get_value(again).to_vector<float>(), (std::vector<float>{-1, -2}));
  EXPECT_EQ(channel.get_value(sum).to_vector<float>(), (std::vector<float>{2, 4}));
}

TEST(Constants, TheCacheIsBounded) {
  Channel channel(Options{});
  for (int i = 0; i < 5000; ++i) channel.del(channel.put(floats({static_cast<float>(i)})));
  const MemoryReport report = channel.memory();
  EXPECT_EQ(report.live_tensors, 0u);
  EXPECT_LE(report.committed_bytes, std::size_t{4} << 20);
  EXPECT_EQ(channel.get_value(channel.put(floats({17}))).item<float>(), 17.f);
}

}  // namespace
}  // namespace regrow
