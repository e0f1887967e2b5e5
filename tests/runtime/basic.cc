// SPDX-License-Identifier: Apache-2.0
// Tensors through a channel: put, apply, ask, delete.
#include <gtest/gtest.h>

#include <vector>

#include "tests/runtime/gate.h"

namespace regrow {
namespace {

TEST(Channel, ComputesWhatWasIssued) {
  Channel channel(Options{});
  const Handle a = channel.put(floats({1, 2, 3, 4}, {2, 2}), {.no_cache = true});
  const Handle b = channel.apply_op(op("add"), {a, a}).at(0);
  const Handle c = channel.apply_op(op("sum", {{"axis", Axes{0}}, {"keepdims", false}}), {b}).at(0);
  EXPECT_EQ(channel.get_shape(c), (Shape{2}));
  EXPECT_EQ(channel.get_dtype(c), DType::f32);
  EXPECT_EQ(channel.get_device(c), Device("cpu:0"));
  EXPECT_EQ(channel.get_value(c).to_vector<float>(), (std::vector<float>{8, 12}));
}

TEST(Channel, ABroadcastSumHasTheRightShapeAndValues) {
  Channel channel(Options{});
  const Handle one = channel.put(floats({1}, {1}));
  const Handle many = channel.put(HostArray::from(std::vector<float>(50, 2.f), {5, 10}));
  const Handle sum = channel.apply_op(op("add"), {one, many}).at(0);
  EXPECT_EQ(channel.get_shape(sum), (Shape{5, 10}));
  EXPECT_EQ(channel.get_value(sum).to_vector<float>(), std::vector<float>(50, 3.f));
}

TEST(Channel, TheValueOfASmallPutIsTheHostArrayItselfAndNeedsNoWait) {
  Channel channel(Options{});
  const HostArray value = floats({1, 2, 3}, {3});
  const Handle a = channel.put(value, {.no_cache = true});
  EXPECT_EQ(channel.get_value(a).data(), value.data());
  HostArray known;
  EXPECT_TRUE(channel.host_value(a, known));
  EXPECT_EQ(known.data(), value.data());
  const Handle large = channel.put(HostArray::from(std::vector<float>(33, 1.f), {33}));
  EXPECT_FALSE(channel.host_value(large, known));
  EXPECT_EQ(channel.get_value(large).to_vector<float>(), std::vector<float>(33, 1.f));
}

TEST(Channel, AScalarAndAnEmptyTensorAreOrdinary) {
  Channel channel(Options{});
  const Handle scalar = channel.put(HostArray::scalar(2.5, DType::f64));
  EXPECT_EQ(channel.get_shape(scalar), Shape{});
  const Handle empty = channel.put(HostArray::from(std::vector<float>{}, {0, 3}), {.no_cache = true});
  const Handle twice = channel.apply_op(op("add"), {empty, empty}).at(0);
  EXPECT_EQ(channel.get_shape(twice), (Shape{0, 3}));
  EXPECT_EQ(channel.get_value(twice).count(), 0);
  EXPECT_EQ(channel.get_value(channel.apply_op(op("sum"), {twice}).at(0)).item<float>(), 0.f);
}

TEST(Channel, ADeletedHandleIsRecognisedAlsoWhenItsSlotIsUsedAgain) {
  Channel channel(Options{});
  const Handle a = channel.put(floats({1}, {1}), {.no_cache = true});
  channel.del(a);
  EXPECT_THROW(channel.get_value(a), Error);
  for (int i = 0; i < 2000; ++i) {
    const Handle other = channel.put(floats({static_cast<float>(i)}, {1}), {.no_cache = true});
    EXPECT_NE(other, a);
    channel.del(other);
  }
  EXPECT_THROW(channel.get_value(a), Error);
  EXPECT_THROW(channel.apply_op(op("negative"), {a}), Error);
  channel.del(a);
  channel.del(Handle{});
  EXPECT_THROW(channel.get_value(Handle{}), Error);
}

TEST(Channel, AViewIsASnapshotOfItsBase) {
  Channel channel(Options{});
  const Handle a = channel.put(floats({0, 1, 2, 3, 4, 5}, {6}), {.no_cache = true});
  const Handle base = channel.apply_op(op("add"), {a, a}).at(0);
  const Handle view = channel.apply_op(op("slice", {{"start", Dims{5}}, {"stop", Dims{-1}}, {"step", Dims{-2}}}), {base}).at(0);
  channel.del(base);
  const Handle other = channel.apply_op(op("negative"), {a}).at(0);
  EXPECT_EQ(channel.get_value(view).to_vector<float>(), (std::vector<float>{10, 6, 2}));
  EXPECT_EQ(channel.get_value(other).to_vector<float>(), (std::vector<float>{0, -1, -2, -3, -4, -5}));
}

TEST(Channel, SeveralChannelsInOneProcessKnowNothingOfEachOther) {
  Channel one(Options{}), two(Options{});
  const Handle a = one.put(floats({1, 2}, {2}), {.no_cache = true});
  const Handle b = two.put(floats({3, 4}, {2}), {.no_cache = true});
  const Handle sum_one = one.apply_op(op("add"), {a, a}).at(0), sum_two = two.apply_op(op("add"), {b, b}).at(0);
  EXPECT_EQ(one.get_value(sum_one).to_vector<float>(), (std::vector<float>{2, 4}));
  one.close();
  EXPECT_EQ(two.get_value(sum_two).to_vector<float>(), (std::vector<float>{6, 8}));
}

TEST(Channel, AChannelWithPendingWorkClosesCleanly) {
  for (int i = 0; i < 20; ++i) {
    Channel channel(Options{});
    Handle x = channel.put(HostArray::from(std::vector<float>(10'000, 1.f), {100, 100}));
    for (int k = 0; k < 30; ++k) x = channel.apply_op(op("matmul"), {x, x}).at(0);
  }
}

}  // namespace
}  // namespace regrow
