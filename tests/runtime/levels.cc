// SPDX-License-Identifier: Apache-2.0
// Async levels: when a call waits, and that values and errors are the same at each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/gate.h"

namespace regrow {
namespace {

using testing::HasSubstr;

Handle take(Channel& channel, Handle x, std::int64_t index) {
  return apply_one(channel, op("take", {{"axis", 0}}), {x, channel.put(ints({0, index}))});
}

Handle some_of(Channel& channel, Handle x, float above) {
  const Handle mask = apply_one(channel, op("greater"), {x, channel.put(HostArray::scalar(above, DType::f32))});
  return apply_one(channel, op("masked_select"), {x, mask});
}

TEST(Levels, At0EveryCallHasRunWhenItReturns) {
  Channel channel(Options{.async_level = 0});
  int calls = 0;
  const Op count = callback_op("count", [&calls](std::span<const HostArray> in) {
    ++calls;
    return std::vector<HostArray>(in.begin(), in.end());
  });
  const Handle x = put_large(channel, 0);
  for (int i = 1; i <= 5; ++i) {
    apply_one(channel, count, {x});
    EXPECT_EQ(calls, i);
  }
}

TEST(Levels, At0ACallThrowsItsOwnErrorWhichCountsAsTold) {
  Channel channel(Options{.async_level = 0});
  const Handle x = put_large(channel, 0);
  const std::size_t live = channel.memory().live_tensors;
  EXPECT_THAT(message_of([&] { take(channel, x, 99); }), HasSubstr("99"));
  EXPECT_NO_THROW(channel.sync());
  EXPECT_EQ(channel.memory().live_tensors, live + 1);  // the index; the call left no result
}

TEST(Levels, At1OnlyACallWhoseShapeIsUnknownWaits) {
  Channel channel(Options{.async_level = 1});
  const Handle x = put_large(channel, 0);
  const Handle some = some_of(channel, x, 50);
  EXPECT_TRUE(channel.get_desc(some).known);
  EXPECT_EQ(channel.get_desc(some).shape, Shape{13});
  EXPECT_THROW(channel.apply_op(op("add"), {some, put_large(channel, 0, 40)}), Error);  // known now: thrown at the call
  EXPECT_NO_THROW(channel.sync());
  Handle bad;
  EXPECT_NO_THROW(bad = take(channel, x, 99));  // its shape is known: it does not wait
  EXPECT_THROW(channel.wait(bad), AsyncError);
}

TEST(Levels, At2AnUnknownShapeStaysUnknownUntilSomebodyWaits) {
  Channel channel(Options{});
  const Handle some = some_of(channel, put_large(channel, 0), 50);
  EXPECT_FALSE(channel.get_desc(some).known);
  EXPECT_EQ(channel.get_dtype(some), DType::f32);
  const Handle more = apply_one(channel, op("exp"), {some});
  EXPECT_FALSE(channel.get_desc(more).known);
  channel.wait(some);
  EXPECT_TRUE(channel.get_desc(some).known);
  EXPECT_FALSE(channel.get_desc(more).known);
  EXPECT_EQ(channel.get_shape(more), Shape{13});
  EXPECT_TRUE(channel.get_desc(more).known);
}

TEST(Levels, GiveTheSameValuesAndTheSameErrors) {
  auto run = [](std::size_t level, std::size_t lookahead) {
    Channel channel(Options{.async_level = level, .lookahead = lookahead});
    std::vector<std::string> told;
    const Handle x = put_large(channel, 0);
    Handle y = apply_one(channel, op("multiply"), {x, channel.put(HostArray::scalar(0.3, DType::f32))});
    for (int i = 0; i < 10; ++i) y = apply_one(channel, op("add"), {y, apply_one(channel, op("tanh"), {y})});
    Handle bad;
    try {
      bad = apply_one(channel, op("exp"), {take(channel, x, 1000)});
      channel.wait(bad);
    } catch (const AsyncError& error) {
      told.push_back(error.message());
    }
    channel.sync();
    return std::pair(channel.get_value(y).to_vector<float>(), told);
  };
  const auto expected = run(0, 0);
  ASSERT_EQ(expected.second.size(), 1u);
  for (std::size_t level : {0, 1, 2})
    for (std::size_t lookahead : {0, 1, 2, 7, 32, 200}) EXPECT_EQ(run(level, lookahead), expected) << level << " " << lookahead;
}

}  // namespace
}  // namespace regrow
