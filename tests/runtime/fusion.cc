// SPDX-License-Identifier: Apache-2.0
// Elementwise neighbours run as one operation, with the bits of the single ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <random>

#include "tests/runtime/gate.h"

namespace regrow {
namespace {

// What the worker executed, by name and attributes.
struct Executed : Observer {
  void on_event(const Event& event) override {
    if (event.kind != EventKind::op_execute_begin || event.reason != Reason::command) return;
    const std::lock_guard lock(mutex);
    names.push_back(std::string(event.name) + (event.name == "fused" ? " " + std::string(event.detail) : ""));
  }
  std::mutex mutex;
  std::vector<std::string> names;
};

// Issues the program while the worker stands still, so that all of it is in one batch; returns what ran.
template <class Program>
std::vector<std::string> executed(Channel& channel, Program&& program) {
  Executed seen;
  channel.observe(&seen);
  Gate gate;
  gate.close_on(channel);
  channel.start_profile();
  program();
  gate.open();
  channel.sync();
  channel.observe(nullptr);
  return seen.names;
}

Handle constant(Channel& channel, float value) { return channel.put(HostArray::scalar(value, DType::f32)); }

// relu(x * a + b) + x * 0.5, temporaries dying as those of a C++ expression do.
Handle expression(Channel& channel, Handle x) {
  const Handle a = constant(channel, 1.5f), b = constant(channel, -0.3f), half = constant(channel, 0.5f);
  const Handle t1 = apply_one(channel, op("multiply"), {x, a}), t2 = apply_one(channel, op("add"), {t1, b});
  const Handle t3 = apply_one(channel, op("relu"), {t2}), t4 = apply_one(channel, op("multiply"), {x, half});
  const Handle y = apply_one(channel, op("add"), {t3, t4});
  for (Handle dead : {t1, t2, t3, t4, a, b, half}) channel.del(dead);
  return y;
}

std::vector<std::uint32_t> bits_of(const HostArray& value) {
  std::vector<std::uint32_t> bits;
  for (float f : value.to_vector<float>()) bits.push_back(std::bit_cast<std::uint32_t>(f));
  return bits;
}

TEST(Fusion, AnExpressionIsOneOperation) {
  Channel channel(Options{});
  const Handle x = put_large(channel, -3, 1 << 16);
  for (float value : {1.5f, -0.3f, 0.5f}) constant(channel, value);  // known from here on
  channel.sync();
  Handle y;
  const auto names = executed(channel, [&] { y = expression(channel, x); });
  EXPECT_EQ(names, std::vector<std::string>{"fused multiply+add+relu+multiply+add"});
  EXPECT_EQ(channel.get_value(y).to_vector<float>()[4], 1.5f * 1 + -0.3f + 0.5f);
  EXPECT_EQ(channel.memory().operators, 6u);  // with the gate: fused ones are counted each
}

TEST(Fusion, HasTheBitsOfTheSingleOperations) {
  std::mt19937 random(5);
  std::vector<float> values(10'007);
  for (float& value : values) value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
  auto run = [&](std::size_t lookahead) {
    Channel channel(Options{.lookahead = lookahead});
    const Handle x = channel.put(HostArray::from(values, Shape{10'007}));
    const Handle y = expression(channel, x);
    const Handle z = apply_one(channel, op("subtract"), {apply_one(channel, op("tanh"), {y}), y});
    return std::pair(bits_of(channel.get_value(z)), bits_of(channel.get_value(y)));
  };
  const auto single = run(0), fused = run(32);
  EXPECT_TRUE(single == fused);
}

TEST(Fusion, AnIntermediateThatLivesIsAnOutputAsWell) {
  Channel channel(Options{});
  const Handle x = put_large(channel, 0);
  Handle t, y;
  const auto names = executed(channel, [&] {
    t = apply_one(channel, op("add"), {x, x});
    y = apply_one(channel, op("negative"), {t});
  });
  EXPECT_EQ(names, std::vector<std::string>{"fused add+negative"});
  EXPECT_EQ(channel.get_value(t).to_vector<float>()[3], 6.f);
  EXPECT_EQ(channel.get_value(y).to_vector<float>()[3], -6.f);
}

TEST(Fusion, KeepsToOneShapeAndStopsAtOtherKinds) {
  Channel channel(Options{});
  const Handle x = put_large(channel, 0), row = put_large(channel, 0, 32);
  const auto names = executed(channel, [&] {
    apply_one(channel, op("negative"), {x});
    apply_one(channel, op("negative"), {row});
    const Handle y = apply_one(channel, op("add"), {x, x});
    const Handle sum = apply_one(channel, op("sum"), {y});
    apply_one(channel, op("negative"), {sum});
    apply_one(channel, op("subtract"), {y, sum});
  });
  EXPECT_EQ(names, (std::vector<std::string>{"negative", "negative", "add", "sum", "negative", "subtract"}));
}

TEST(Fusion, MixesTypesRoundingEachStepToItsOwn) {
  auto run = [](std::size_t lookahead) {
    Channel channel(Options{.lookahead = lookahead});
    const Handle x = put_large(channel, 0.3f, 1000);
    const Handle narrow = apply_one(channel, op("cast", {{"dtype", DType::bf16}}), {x});
    const Handle square = apply_one(channel, op("multiply"), {narrow, narrow});
    const Handle wide = apply_one(channel, op("cast", {{"dtype", DType::f32}}), {square});
    const Handle small = apply_one(channel, op("less"), {wide, x});
    channel.del(narrow), channel.del(square);
    return std::pair(bits_of(channel.get_value(wide)), channel.get_value(small).to_vector<bool>());
  };
  EXPECT_TRUE(run(0) == run(32));
}

TEST(Fusion, APoisonedInputPoisonsOnlyWhatReadsIt) {
  Channel channel(Options{});
  const Handle x = put_large(channel, 0);
  const Handle bad =
      apply_one(channel, op("take", {{"axis", 0}}), {x, channel.put(HostArray::from(std::vector<std::int64_t>(64, 99), {64}))});
  EXPECT_THROW(channel.wait(bad), AsyncError);
  Handle good_before, worse, good_after;
  executed(channel, [&] {
    good_before = apply_one(channel, op("negative"), {x});
    worse = apply_one(channel, op("add"), {x, bad});
    good_after = apply_one(channel, op("add"), {good_before, x});
  });
  EXPECT_EQ(channel.get_value(good_before).to_vector<float>()[1], -1.f);
  EXPECT_EQ(channel.get_value(good_after).to_vector<float>()[1], 0.f);
  EXPECT_THROW(channel.get_value(worse), AsyncError);
}

TEST(Fusion, AFusedResultCanBeDroppedAndComputedAgain) {
  Channel channel(Options{.enable_drop = 1});
  const Handle x = put_large(channel, -3, 1000);
  Handle y;
  executed(channel, [&] { y = expression(channel, x); });
  const auto before = bits_of(channel.get_value(y));
  channel.del(x);
  channel.drop(y);
  EXPECT_EQ(bits_of(channel.get_value(y)), before);
}

TEST(Fusion, UnderABudgetNeedsNoMoreThanItsNeediestMember) {
  Channel channel(Options{});
  std::vector<Handle> inputs;
  for (int i = 0; i < 4; ++i) inputs.push_back(put_large(channel, static_cast<float>(i), 1 << 18));
  channel.set_memory_budget(6 << 20);  // four inputs of 1 MiB; the sum of all as one operation would fit as well
  const auto names = executed(channel, [&] {
    const Handle a = apply_one(channel, op("add"), {inputs[0], inputs[1]}), b = apply_one(channel, op("add"), {inputs[2], inputs[3]});
    const Handle c = apply_one(channel, op("add"), {a, b});
    channel.del(a), channel.del(b);
    const Handle d = apply_one(channel, op("negative"), {c}), e = apply_one(channel, op("tanh"), {d});
    channel.del(c), channel.del(d);
    apply_one(channel, op("exp"), {e});
    channel.del(e);
  });
  for (const std::string& name : names) EXPECT_NE(name.substr(0, 13), "fused add+add");
  EXPECT_THAT(names, testing::Contains(testing::HasSubstr("tanh+exp")));
}

TEST(Fusion, RandomProgramsAreTheSameAtEveryLookahead) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    auto run = [seed](std::size_t lookahead, bool held) {
      std::mt19937 random(seed);
      Channel channel(Options{.lookahead = lookahead});
      std::vector<Handle> live;
      const std::int64_t count = 1 + static_cast<std::int64_t>(random() % 3000);
      for (int i = 0; i < 3; ++i) live.push_back(put_large(channel, static_cast<float>(i) * 0.37f - 1, count));
      live.push_back(constant(channel, 0.7f));
      Gate gate;
      if (held) gate.close_on(channel);
      const char* names[] = {"add", "subtract", "multiply", "maximum", "negative", "tanh", "abs"};
      for (int step = 0; step < 40; ++step) {
        const unsigned which = random() % 7;
        const Handle a = live[random() % live.size()], b = live[random() % live.size()];
        live.push_back(which < 4 ? apply_one(channel, op(names[which]), {a, b}) : apply_one(channel, op(names[which]), {a}));
        if (live.size() > 6) {
          const std::size_t dead = random() % live.size();
          channel.del(live[dead]);
          live.erase(live.begin() + static_cast<std::ptrdiff_t>(dead));
        }
      }
      gate.open();
      std::vector<std::vector<std::uint32_t>> values;
      for (Handle handle : live) values.push_back(bits_of(channel.get_value(handle)));
      return values;
    };
    const auto expected = run(0, false);
    for (std::size_t lookahead : {1, 5, 32, 100}) EXPECT_TRUE(run(lookahead, true) == expected) << seed << " " << lookahead;
  }
}

}  // namespace
}  // namespace regrow
