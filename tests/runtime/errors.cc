// SPDX-License-Identifier: Apache-2.0
// Where errors appear, whom they reach, what they say, and what goes on working.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "tests/runtime/gate.h"

namespace regrow {
namespace {

using testing::HasSubstr;
using testing::Not;

// take(x, index) along axis 0; x has 64 elements.
Handle take(Channel& channel, Handle x, std::int64_t index, Site site = Site::here()) {
  const Handle at = channel.put(ints({0, index}), {}, site);
  const Handle taken = apply_one(channel, op("take", {{"axis", 0}}), {x, at}, site);
  channel.del(at);
  return taken;
}

TEST(Errors, AMistakeInShapesIsThrownAtTheIssuingLineAndQueuesNothing) {
  Channel channel(Options{});
  const Handle a = channel.put(HostArray::from(std::vector<float>(12), {3, 4}));
  const Handle b = channel.put(HostArray::from(std::vector<float>(30), {5, 6}));
  const std::string text = message_of([&] { channel.apply_op(op("matmul"), {a, b}); });
  EXPECT_THAT(text, HasSubstr("matmul"));
  EXPECT_THAT(text, HasSubstr("(3, 4)"));
  EXPECT_THAT(text, HasSubstr("(5, 6)"));
  EXPECT_THAT(text, HasSubstr("errors.cc"));
  EXPECT_THAT(message_of([&] { channel.apply_op(op("add"), {a}); }), HasSubstr("takes 2 inputs, not 1"));
  EXPECT_THAT(message_of([&] { channel.apply_op(op("add"), {}); }), HasSubstr("takes 2 inputs, not 0"));
  channel.sync();
  EXPECT_EQ(channel.memory().operators, 0u);
}

TEST(Errors, AnErrorOfValuesPoisonsItsOutputsAndNobodyElse) {
  Channel channel(Options{});
  const Handle x = put_large(channel, 0);
  const Handle before = apply_one(channel, op("negative"), {x});
  const int line = __LINE__ + 1;
  const Handle bad = take(channel, x, 99);
  const Handle worse = apply_one(channel, op("exp"), {apply_one(channel, op("sum"), {bad})});
  const Handle after = apply_one(channel, op("add"), {x, x});
  EXPECT_EQ(channel.get_value(before).to_vector<float>()[2], -2.f);
  EXPECT_EQ(channel.get_value(after).to_vector<float>()[2], 4.f);
  for (int again = 0; again < 2; ++again) {
    const std::string text = message_of([&] { channel.get_value(worse); });
    EXPECT_THAT(text, HasSubstr("take"));
    EXPECT_THAT(text, HasSubstr("99"));
    EXPECT_THAT(text, HasSubstr("f32(64,)"));
    EXPECT_THAT(text, HasSubstr("errors.cc:" + std::to_string(line)));
    EXPECT_THAT(text, Not(HasSubstr("sum")));
  }
  EXPECT_THROW(channel.wait(bad), AsyncError);
  EXPECT_THROW(channel.get_dev_tensor(worse), AsyncError);
  EXPECT_NO_THROW(channel.sync());  // all of it was told
}

TEST(Errors, TheCauseIsNestedWithItsOwnType) {
  Channel channel(Options{});
  const Op failing = callback_op("failing", [](std::span<const HostArray>) -> std::vector<HostArray> {
    throw std::out_of_range("the callback's own words");
  });
  const Handle bad = apply_one(channel, failing, {put_large(channel, 0)});
  try {
    channel.wait(bad);
    FAIL();
  } catch (const AsyncError& error) {
    EXPECT_THAT(error.what(), HasSubstr("failing"));
    EXPECT_EQ(std::string(error.site().file).ends_with("errors.cc"), true);
    try {
      std::rethrow_if_nested(error);
      FAIL();
    } catch (const std::out_of_range& cause) {
      EXPECT_STREQ(cause.what(), "the callback's own words");
    }
  }
  const Op odd = callback_op("odd", [](std::span<const HostArray>) -> std::vector<HostArray> { throw 42; });
  try {
    channel.wait(apply_one(channel, odd, {put_large(channel, 0)}));
    FAIL();
  } catch (const AsyncError& error) {
    EXPECT_THROW(error.rethrow_nested(), int);
  }
}

TEST(Errors, SyncTellsTheEarliestUntoldOneAndHowManyMore) {
  Channel channel(Options{});
  const Handle x = put_large(channel, 0);
  const Handle first = take(channel, x, 71);
  const Handle second = take(channel, x, 72);
  take(channel, x, 73);
  const Handle inherits = apply_one(channel, op("exp"), {second});
  EXPECT_THROW(channel.wait(first), AsyncError);
  std::string text = message_of([&] { channel.sync(); });
  EXPECT_THAT(text, HasSubstr("72"));
  EXPECT_THAT(text, HasSubstr("1 more error"));
  EXPECT_NO_THROW(channel.sync());
  EXPECT_THAT(message_of([&] { channel.wait(inherits); }), HasSubstr("72"));  // still as often as one asks
  EXPECT_NO_THROW(channel.sync());
}

TEST(Errors, OfADeletedTensorAreToldBySync) {
  Channel channel(Options{});
  const Handle x = put_large(channel, 0);
  channel.del(take(channel, x, 99));
  channel.del(x);
  EXPECT_THAT(message_of([&] { channel.sync(); }), HasSubstr("99"));
  EXPECT_NO_THROW(channel.sync());
}

TEST(Errors, AnUnknownShapeThatTurnsOutWrongPoisonsTheResult) {
  Channel channel(Options{});
  const Handle x = put_large(channel, 0);
  const Handle positive = apply_one(channel, op("greater"), {x, channel.put(HostArray::scalar(50, DType::f32))});
  const Handle some = apply_one(channel, op("masked_select"), {x, positive});  // 13 elements
  const Handle four = put_large(channel, 0, 40);
  const int line = __LINE__ + 1;
  const Handle bad = apply_one(channel, op("add"), {some, four});
  const Handle good = apply_one(channel, op("add"), {some, some});
  const std::string text = message_of([&] { channel.get_shape(bad); });
  EXPECT_THAT(text, HasSubstr("(13,)"));
  EXPECT_THAT(text, HasSubstr("(40,)"));
  EXPECT_THAT(text, HasSubstr("errors.cc:" + std::to_string(line)));
  EXPECT_EQ(channel.get_shape(good), Shape{13});
  EXPECT_EQ(channel.get_value(good).to_vector<float>()[0], 102.f);
  EXPECT_NO_THROW(channel.sync());
}

TEST(Errors, WithCatchWorkerException0TheFirstOneClosesTheChannel) {
  Channel channel(Options{.catch_worker_exception = 0});
  const Handle x = put_large(channel, 0);
  const Handle bad = take(channel, x, 99);
  EXPECT_THAT(message_of([&] { channel.wait(bad); }), HasSubstr("99"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(message_of([&] { channel.get_value(x); }), HasSubstr("99"));
    EXPECT_THAT(message_of([&] { channel.apply_op(op("exp"), {x}); }), HasSubstr("99"));
    EXPECT_THAT(message_of([&] { channel.sync(); }), HasSubstr("99"));
    EXPECT_THAT(message_of([&] { channel.get_option("lookahead"); }), HasSubstr("99"));
  }
  EXPECT_TRUE(channel.closed());
  channel.del(x);
  EXPECT_NO_THROW(channel.close());
}

TEST(Errors, WithCatchWorkerException0PendingWaitsEndWithTheError) {
  Channel channel(Options{.catch_worker_exception = 0});
  Gate gate;
  gate.close_on(channel);
  const Handle x = put_large(channel, 0);
  take(channel, x, 99);
  std::vector<std::thread> waiters;
  std::atomic<int> told = 0;
  for (int i = 0; i < 4; ++i)
    waiters.emplace_back([&] {
      try {
        channel.get_value(x);
        channel.sync();
      } catch (const AsyncError&) {
        ++told;
      }
    });
  gate.open();
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_EQ(told, 4);
}

TEST(Errors, CloseThrowsAnErrorThatNobodyWasToldTheSecondCloseNothing) {
  Channel channel(Options{});
  take(channel, put_large(channel, 0), 99);
  EXPECT_THAT(message_of([&] { channel.close(); }), HasSubstr("99"));
  EXPECT_NO_THROW(channel.close());
}

TEST(Errors, AWrongKindOfElementIsAnErrorAtTheReader) {
  Channel channel(Options{});
  const Handle x = put_large(channel, 0);
  EXPECT_THROW(channel.get_value(x).to_vector<double>(), Error);
  EXPECT_THROW(channel.get_value(x).item<float>(), Error);
}

TEST(Errors, ManyIgnoredOnesTakeNoMemoryOfTensors) {
  Channel channel(Options{});
  const Handle x = put_large(channel, 0);
  for (int i = 0; i < 3000; ++i) channel.del(take(channel, x, 64 + i));
  const std::string text = message_of([&] { channel.sync(); });
  EXPECT_THAT(text, HasSubstr("64"));
  EXPECT_THAT(text, HasSubstr("2999 more errors"));
  EXPECT_EQ(channel.memory().live_tensors, 1u);
}

}  // namespace
}  // namespace regrow
