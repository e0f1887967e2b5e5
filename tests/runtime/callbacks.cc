// SPDX-License-Identifier: Apache-2.0
// Host callbacks: operators of the user's, run in order on the worker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/gate.h"

namespace regrow {
namespace {

using testing::HasSubstr;

TEST(Callbacks, RunOnceInOrderAndFlush) {
  Channel channel(Options{.lookahead = 1000});
  std::vector<float> seen;
  std::promise<void> ran;
  const Op log = callback_op("log", [&](std::span<const HostArray> in) {
    seen.push_back(in[0].to_vector<float>()[0]);
    if (seen.size() == 3) ran.set_value();
    return std::vector<HostArray>(in.begin(), in.end());
  });
  Handle x = put_large(channel, 1);
  for (int i = 0; i < 3; ++i) {
    apply_one(channel, log, {x});
    x = apply_one(channel, op("add"), {x, x});
  }
  ran.get_future().wait();  // nothing but the callbacks flushed
  channel.sync();
  EXPECT_EQ(seen, (std::vector<float>{1, 2, 4}));
}

TEST(Callbacks, DeclareTheirOutputs) {
  Channel channel(Options{});
  const Op source = callback_op(
      "source", [](std::span<const HostArray>) { return std::vector{floats({1, 2, 3})}; },
      {.outputs = {{.dtype = DType::f32, .shape = unknown}}});
  const Handle open = apply_one(channel, source, {});
  EXPECT_EQ(channel.get_dtype(open), DType::f32);
  EXPECT_FALSE(channel.get_desc(open).known);
  EXPECT_EQ(channel.get_shape(open), Shape{3});
  EXPECT_EQ(channel.get_value(open).to_vector<float>(), (std::vector<float>{1, 2, 3}));
  const Op halves = callback_op(
      "halves", [](std::span<const HostArray>) { return std::vector{ints({1}), ints({2, 3})}; },
      {.outputs = {{.dtype = DType::i64, .shape = Shape{1}}, {.dtype = DType::i64, .shape = unknown}}});
  const std::vector<Handle> both = channel.apply_op(halves, {});
  ASSERT_EQ(both.size(), 2u);
  EXPECT_TRUE(channel.get_desc(both[0]).known);
  EXPECT_EQ(channel.get_value(both[1]).to_vector<std::int64_t>(), (std::vector<std::int64_t>{2, 3}));
}

TEST(Callbacks, AreHeldToWhatTheyDeclared) {
  Channel channel(Options{});
  auto returning = [](std::vector<HostArray> values) {
    return callback_op("wrong", [values](std::span<const HostArray>) { return values; },
                       {.outputs = {{.dtype = DType::f32, .shape = Shape{2}}}});
  };
  for (const auto& values : {std::vector<HostArray>{}, {floats({1})}, {ints({1, 2})}, {floats({1, 2}), floats({1, 2})}}) {
    const Handle bad = apply_one(channel, returning(values), {});
    EXPECT_THAT(message_of([&] { channel.wait(bad); }), HasSubstr("callback wrong"));
  }
  EXPECT_EQ(channel.get_value(apply_one(channel, returning({floats({1, 2})}), {})).to_vector<float>(), (std::vector<float>{1, 2}));
}

TEST(Callbacks, MayNotUseAChannelButMayLetTensorsGo) {
  Channel channel(Options{}), other(Options{});
  const Handle x = put_large(channel, 0);
  const Handle gone = put_large(channel, 0);
  DeviceTensor lent = channel.get_dev_tensor(x);
  std::vector<std::string> told;
  const Op nosy = callback_op("nosy", [&](std::span<const HostArray> in) {
    told.push_back(message_of([&] { channel.get_value(x); }));
    told.push_back(message_of([&] { channel.apply_op(op("exp"), {x}); }));
    told.push_back(message_of([&] { channel.sync(); }));
    told.push_back(message_of([&] { other.sync(); }));
    told.push_back(message_of([&] { channel.close(); }));
    channel.del(gone);
    lent = DeviceTensor();
    return std::vector<HostArray>(in.begin(), in.end());
  });
  channel.wait(apply_one(channel, nosy, {x}));
  ASSERT_EQ(told.size(), 5u);
  for (const std::string& text : told) EXPECT_THAT(text, HasSubstr("inside a callback"));
  channel.sync();
  EXPECT_EQ(channel.memory().live_tensors, 2u);
}

TEST(Callbacks, CanBeSpilledButAreNeverRunAgain) {
  Channel channel(Options{.enable_drop = 1, .enable_swap = 1});
  int calls = 0;
  const Op count = callback_op("count", [&](std::span<const HostArray> in) {
    ++calls;
    return std::vector<HostArray>(in.begin(), in.end());
  });
  const Handle y = apply_one(channel, count, {put_large(channel, 3)});
  const Handle z = apply_one(channel, op("add"), {y, y});
  channel.drop(y);
  channel.swap_out(y);
  channel.drop(z);
  EXPECT_EQ(channel.get_value(z).to_vector<float>()[0], 6.f);
  EXPECT_EQ(calls, 1);
}

TEST(Callbacks, TakeInputsWhoseShapeIsNotKnownYet) {
  Channel channel(Options{});
  const Handle x = put_large(channel, 0);
  const Handle mask = apply_one(channel, op("greater"), {x, channel.put(HostArray::scalar(61, DType::f32))});
  const Handle some = apply_one(channel, op("masked_select"), {x, mask});
  const Op same = callback_op("same", [](std::span<const HostArray> in) { return std::vector<HostArray>(in.begin(), in.end()); });
  EXPECT_EQ(channel.get_value(apply_one(channel, same, {some})).to_vector<float>(), (std::vector<float>{62, 63}));
}

TEST(Random, TheCounterAdvancesByOneForEachSeededOperationInIssueOrder) {
  Channel channel(Options{});
  channel.seed(7);
  const Op normal = op("normal", {{"shape", Dims{100}}});
  const std::vector<float> first = channel.get_value(apply_one(channel, normal, {})).to_vector<float>();
  EXPECT_EQ(channel.random_state(), (RandomState{7, 1}));
  const std::vector<float> second = channel.get_value(apply_one(channel, normal, {})).to_vector<float>();
  EXPECT_NE(first, second);
  EXPECT_THROW(channel.apply_op(op("normal", {{"shape", Dims{-1}}}), {}), Error);
  EXPECT_EQ(channel.random_state(), (RandomState{7, 2}));  // a call that was refused takes no number
  EXPECT_EQ(channel.next_random(), (RandomState{7, 2}));
  channel.set_random_state({7, 1});
  EXPECT_EQ(channel.get_value(apply_one(channel, normal, {})).to_vector<float>(), second);
  const RandomState given{7, 0};
  Handle out;
  channel.apply(normal, {}, {&out, 1}, Site::here(), &given);
  EXPECT_EQ(channel.get_value(out).to_vector<float>(), first);
  EXPECT_EQ(channel.random_state(), (RandomState{7, 2}));
  apply_one(channel, op("exp"), {out});
  EXPECT_EQ(channel.random_state(), (RandomState{7, 2}));
}

}  // namespace
}  // namespace regrow
