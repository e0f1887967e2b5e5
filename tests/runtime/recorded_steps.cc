// SPDX-License-Identifier: Apache-2.0
// A step that was recorded is the step that was run: the planner sees what the machine saw.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <optional>

#include "regrow/base/units.h"
#include "regrow/remat/replay.h"
#include "tests/runtime/gate.h"

namespace regrow {
namespace {

constexpr std::int64_t count = 1 << 16;  // 256 KiB

// Keeps `width` results, adds them up, replaces the parameter.
void step(Channel& channel, Handle& parameter, int width) {
  std::vector<Handle> kept;
  for (int i = 0; i < width; ++i) kept.push_back(apply_one(channel, op(i % 2 ? "tanh" : "sin"), {parameter}));
  Handle sum = apply_one(channel, op("add"), {kept[0], kept[1]});
  for (int i = 2; i < width; ++i) {
    const Handle next = apply_one(channel, op("add"), {sum, kept[static_cast<std::size_t>(i)]});
    channel.del(sum);
    sum = next;
  }
  const Handle view = apply_one(channel, op("reshape", {{"shape", Dims{2, count / 2}}}), {sum});
  const Handle flat = apply_one(channel, op("reshape", {{"shape", Dims{count}}}), {view});
  for (Handle each : kept) channel.del(each);
  for (Handle each : {sum, view, parameter}) channel.del(each);
  parameter = flat;
  channel.end_step();
}

class Recorded {
 public:
  StepTaker taker() {
    return [this](const RecordedStep& step) {
      const std::lock_guard lock(mutex_);
      step_ = step;
    };
  }
  std::optional<RecordedStep> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(step_, std::nullopt);
  }

 private:
  std::mutex mutex_;
  std::optional<RecordedStep> step_;
};

TEST(RecordedSteps, HaveThePeakAndTheOperationsOfTheRun) {
  for (std::size_t lookahead : {0, 32}) {
    Channel channel(Options{.lookahead = lookahead});
    Handle parameter = put_large(channel, 0.f, count);
    Recorded recorded;
    channel.record_step({}, recorded.taker());
    step(channel, parameter, 6);
    channel.sync();
    channel.reset_peak_memory();
    const MemoryReport before = channel.memory();
    step(channel, parameter, 6);
    channel.sync();
    const MemoryReport after = channel.memory();
    const std::optional<RecordedStep> taken = recorded.take();
    ASSERT_TRUE(taken.has_value());
    EXPECT_EQ(taken->number, 2u);
    EXPECT_EQ(taken->budget_bytes, 0u);
    EXPECT_GT(taken->seconds, 0);
    EXPECT_EQ(remat::replay(taken->trace, nullptr, 0).peak_bytes, after.peak_bytes);
    if (lookahead == 0) {
      EXPECT_EQ(taken->trace.operations(), after.operators - before.operators);
    }
    EXPECT_GT(taken->trace.seconds(), 0);
  }
}

TEST(RecordedSteps, RecomputationIsNotPartOfThem) {
  Channel channel(Options{.lookahead = 0});
  Handle parameter = put_large(channel, 0.f, count);
  channel.set_memory_budget(MiB(2));  // of 3 MiB
  Recorded recorded;
  channel.record_step({.skip = 1}, recorded.taker());
  std::uint64_t operators = 0;
  for (int i = 0; i < 4; ++i) {
    step(channel, parameter, 10);
    operators = channel.memory().operators;
  }
  const std::optional<RecordedStep> taken = recorded.take();
  ASSERT_TRUE(taken.has_value());
  EXPECT_GT(channel.memory().recomputed_ops, 0u);
  EXPECT_EQ(taken->trace.operations(), operators / 4);
  EXPECT_EQ(taken->budget_bytes, MiB(2));
}

TEST(RecordedSteps, OfEqualOperationsAreAlikeWhereverInTheWindowTheyBegan) {
  Channel channel(Options{.lookahead = 32});
  const Handle parameter = put_large(channel, 0.f, count);
  channel.set_memory_budget(MiB(64));  // with a budget the stream alone says what is fused
  const auto chain = [&](int length) {
    Handle at = apply_one(channel, op("sin"), {parameter});
    for (int i = 1; i < length; ++i) {
      const Handle next = apply_one(channel, op("tanh"), {at});
      channel.del(std::exchange(at, next));
    }
    channel.del(at);
    channel.end_step();
  };
  std::vector<std::uint64_t> likeness;
  for (int shift = 1; shift < 16; ++shift) {
    Recorded recorded;
    channel.record_step({}, recorded.taker());
    chain(shift);
    chain(41);
    channel.sync();
    likeness.push_back(recorded.take().value().likeness);
  }
  EXPECT_THAT(likeness, testing::Each(likeness[0]));
}

TEST(RecordedSteps, AreOfTheKindThatWasAskedFor) {
  Channel channel(Options{.lookahead = 0});
  Handle parameter = put_large(channel, 0.f, count);
  Recorded settled;
  channel.record_step({.settled = true}, settled.taker());
  for (int width : {3, 4, 5, 6}) step(channel, parameter, width);
  channel.sync();
  EXPECT_FALSE(settled.take().has_value()) << "each was another";
  for (int i = 0; i < 3; ++i) step(channel, parameter, 4);
  channel.sync();
  const std::optional<RecordedStep> first = settled.take();
  ASSERT_TRUE(first.has_value());
  Recorded another;
  channel.record_step({.settled = true, .unlike = first->likeness}, another.taker());
  for (int i = 0; i < 3; ++i) step(channel, parameter, 4);
  channel.sync();
  EXPECT_FALSE(another.take().has_value()) << "like the one that is known";
  for (int i = 0; i < 3; ++i) step(channel, parameter, 5);
  channel.sync();
  EXPECT_TRUE(another.take().has_value());
}

TEST(RecordedSteps, WhoTakesThemMayNotUseTheChannelAndMayThrow) {
  Channel channel(Options{});
  Handle parameter = put_large(channel, 0.f, count);
  bool refused = false;
  channel.record_step({}, [&](const RecordedStep&) {
    try {
      channel.sync();
    } catch (const Error&) {
      refused = true;
    }
    throw std::runtime_error("enough");
  });
  for (int i = 0; i < 3; ++i) step(channel, parameter, 3);
  channel.sync();
  EXPECT_TRUE(refused);
}

TEST(RecordedSteps, ATuningTakesEffectAtTheEndOfAStepUnlessTheBudgetHasChanged) {
  Channel channel(Options{.lookahead = 0});
  Handle parameter = put_large(channel, 0.f, count);
  channel.set_memory_budget(MiB(3));
  step(channel, parameter, 6);
  channel.tune({.settings = {.alpha = 1, .beta = 1}, .budget_bytes = MiB(2)});  // of another time
  step(channel, parameter, 6);
  EXPECT_EQ(channel.memory().tuned_step, 0u);
  channel.tune({.settings = {.alpha = 1, .beta = 1}, .budget_bytes = MiB(3), .mark = MiB(3) / 2});
  EXPECT_EQ(channel.memory().tuned_step, 0u);
  step(channel, parameter, 6);
  EXPECT_EQ(channel.memory().tuned_step, 3u);
  channel.reset_peak_memory();
  step(channel, parameter, 10);
  EXPECT_LE(channel.memory().peak_bytes, MiB(3) / 2) << "kept below the mark";
  channel.set_memory_budget(MiB(8));
  channel.reset_peak_memory();
  step(channel, parameter, 10);
  EXPECT_GT(channel.memory().peak_bytes, MiB(2)) << "another budget, no mark";
}

}  // namespace
}  // namespace regrow
