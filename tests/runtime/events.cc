// SPDX-License-Identifier: Apache-2.0
// What an observer sees: each kind of event where it belongs, and nothing while no profile runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "tests/runtime/gate.h"
#include "tests/runtime/recorder.h"

namespace regrow {
namespace {

class Events : public testing::Test {
 protected:
  void SetUp() override { channel.observe(&recorder); }
  void TearDown() override { channel.observe(nullptr); }
  Seen only(EventKind kind) {
    const std::vector<Seen> found = recorder.of(kind);
    EXPECT_EQ(found.size(), 1u) << name_of(kind);
    return found.empty() ? Seen{} : found[0];
  }

  Recorder recorder;
  Channel channel{Options{.lookahead = 0, .enable_drop = 1, .enable_swap = 1}};
};

TEST_F(Events, NothingIsSeenWhileNoProfileRuns) {
  const Handle x = put_large(channel, 0);
  channel.push_scope("a");
  channel.mark("m");
  channel.pop_scope("a");
  channel.wait(apply_one(channel, op("exp"), {x}));
  EXPECT_TRUE(recorder.all().empty());
  channel.start_profile();
  channel.stop_profile();
  channel.sync();
  const std::size_t before = recorder.all().size();
  channel.wait(apply_one(channel, op("exp"), {x}));
  EXPECT_EQ(recorder.all().size(), before);
}

TEST_F(Events, AnOperationIsDispatchedQueuedBegunExecutedAndEnded) {
  const Handle x = put_large(channel, 0);
  channel.start_profile();
  const Handle y = apply_one(channel, op("sum", {{"axis", Axes{0}}}), {x});
  channel.wait(y);
  const Seen dispatch = only(EventKind::op_dispatch);
  EXPECT_EQ(dispatch.name, "sum");
  EXPECT_THAT(dispatch.detail, testing::HasSubstr("axis=(0,)"));
  EXPECT_EQ(dispatch.thread, std::this_thread::get_id());
  ASSERT_EQ(dispatch.inputs.size(), 1u);
  ASSERT_EQ(dispatch.outputs.size(), 1u);
  const Seen begin = only(EventKind::op_execute_begin), end = only(EventKind::op_execute_end);
  EXPECT_EQ(begin.name, "sum");
  EXPECT_EQ(begin.event.id, dispatch.event.id);
  EXPECT_EQ(end.event.id, dispatch.event.id);
  EXPECT_EQ(begin.inputs, dispatch.inputs);
  EXPECT_EQ(begin.outputs, dispatch.outputs);
  EXPECT_NE(begin.thread, dispatch.thread);
  EXPECT_LE(dispatch.event.time_ns, begin.event.time_ns);
  EXPECT_LE(begin.event.time_ns, end.event.time_ns);
  std::vector<EventKind> life;
  for (const Seen& seen : recorder.all())
    if (seen.event.id == dispatch.event.id &&
        (seen.event.kind == EventKind::command_queued || seen.event.kind == EventKind::command_begin ||
         seen.event.kind == EventKind::command_end))
      life.push_back(seen.event.kind);
  EXPECT_THAT(life, testing::UnorderedElementsAre(EventKind::command_queued, EventKind::command_begin, EventKind::command_end));
}

TEST_F(Events, ATensorIsDeclaredWithItsScopeProducedUsedReleasedErased) {
  const Handle x = put_large(channel, 0);
  channel.start_profile();
  channel.push_scope("encoder");
  channel.push_scope("layer");
  const Handle y = apply_one(channel, op("exp"), {x});
  channel.pop_scope("layer");
  channel.pop_scope("encoder");
  const Handle z = apply_one(channel, op("sum"), {y});
  channel.wait(z);
  channel.del(y);
  channel.del(z);
  channel.sync();
  std::uint64_t tensor = 0;
  for (const Seen& seen : recorder.of(EventKind::tensor_declare)) {
    if (seen.name != "encoder.layer.exp:0") continue;
    tensor = seen.event.tensor;
    EXPECT_EQ(seen.shape, Shape{64});
  }
  ASSERT_NE(tensor, 0u);
  std::vector<EventKind> life;
  for (const Seen& seen : recorder.all())
    if (seen.event.tensor == tensor && seen.event.kind != EventKind::shape_inferred && seen.event.kind != EventKind::cascade)
      life.push_back(seen.event.kind);
  using enum EventKind;
  EXPECT_EQ(life, (std::vector<EventKind>{tensor_declare, tensor_produce, tensor_use, tensor_release, tensor_erase}));
  const Seen scope = recorder.of(scope_begin).at(1);
  EXPECT_EQ(scope.name, "layer");
  EXPECT_EQ(recorder.count(scope_end), 2u);
}

TEST_F(Events, AnExecutionNamesItsDeletes) {
  Gate gate;
  Channel windowed(Options{});
  Recorder mine;
  windowed.observe(&mine);
  gate.close_on(windowed);
  windowed.start_profile();
  const Handle x = put_large(windowed, 0);
  const Handle y = apply_one(windowed, op("sum"), {x});
  windowed.del(x);
  gate.open();
  windowed.wait(y);
  const std::vector<Seen> runs = mine.of(EventKind::op_execute_begin);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].deletes, runs[0].inputs);
  windowed.observe(nullptr);
}

TEST_F(Events, WaitsBeginAndEndAndAreNotified) {
  const Handle x = put_large(channel, 0);
  channel.start_profile();
  channel.get_value(x);
  const Seen begin = only(EventKind::wait_begin), end = only(EventKind::wait_end), notify = only(EventKind::notify);
  EXPECT_EQ(begin.event.id, end.event.id);
  EXPECT_EQ(begin.event.id, notify.event.id);
  EXPECT_EQ(begin.name, "read");
  EXPECT_EQ(begin.thread, std::this_thread::get_id());
  EXPECT_NE(notify.thread, begin.thread);
  EXPECT_LE(begin.event.time_ns, end.event.time_ns);
}

TEST_F(Events, ShapesAreInferredWhenIssuedOrFoundOutByTheWorker) {
  const Handle x = put_large(channel, 0);
  const Handle mask = apply_one(channel, op("greater"), {x, channel.put(HostArray::scalar(61, DType::f32))});
  channel.start_profile();
  const Handle some = apply_one(channel, op("masked_select"), {x, mask});
  const Handle more = apply_one(channel, op("exp"), {some});
  channel.wait(more);
  const std::vector<Seen> inferred = recorder.of(EventKind::shape_inferred);
  std::map<std::string, std::vector<std::pair<bool, bool>>> by_name;  // (here, known)
  for (const Seen& seen : inferred) by_name[seen.name].emplace_back(seen.thread == std::this_thread::get_id(), seen.event.flag);
  for (const char* name : {"masked_select", "exp"})
    EXPECT_THAT(by_name[name], testing::UnorderedElementsAre(std::pair(true, false), std::pair(false, true))) << name;
}

TEST_F(Events, DropSwapAndRegrowAreSeen) {
  const Handle x = put_large(channel, 0);
  const Handle y = apply_one(channel, op("exp"), {x});
  channel.sync();
  channel.start_profile();
  channel.drop(y);
  channel.get_value(y);
  channel.swap_out(y);
  channel.swap_in(y);
  channel.sync();
  using enum EventKind;
  const std::uint64_t tensor = only(drop).event.tensor;
  EXPECT_EQ(only(regrow_begin).outputs, std::vector<std::uint64_t>{tensor});
  EXPECT_EQ(only(regrow_begin).event.id, only(regrow_end).event.id);
  EXPECT_EQ(only(op_execute_begin).event.reason, Reason::regrow);
  EXPECT_EQ(only(swap_out).event.tensor, tensor);
  EXPECT_EQ(only(swap_in).event.tensor, tensor);
  EXPECT_EQ(only(swap_in).event.bytes, 256u);
}

TEST_F(Events, ADeleteThatFreesGhostsCascades) {
  const Handle x = put_large(channel, 0);
  const Handle y = apply_one(channel, op("exp"), {x});
  const Handle z = apply_one(channel, op("sum"), {y});
  channel.set_memory_budget(1 << 24);  // recipes are kept
  const Handle w = apply_one(channel, op("exp"), {z});
  channel.start_profile();
  const Handle v = apply_one(channel, op("exp"), {w});
  channel.sync();
  const std::uint64_t ghost = recorder.of(EventKind::op_dispatch).at(0).inputs.at(0);
  channel.del(w);  // a ghost, for v's recipe
  channel.sync();
  EXPECT_EQ(recorder.count(EventKind::cascade), 0u);
  channel.del(v);
  channel.sync();
  const Seen cascade = only(EventKind::cascade);
  EXPECT_EQ(cascade.event.tensor, ghost);
  EXPECT_EQ(cascade.event.bytes, 4u);
  channel.del(y);
  channel.del(z);
  channel.del(x);
  channel.sync();
  EXPECT_GE(recorder.count(EventKind::tensor_erase), 4u);
}

TEST_F(Events, AWorkerErrorSaysWhatAndWhere) {
  const Handle x = put_large(channel, 0);
  channel.start_profile();
  const Handle bad = apply_one(channel, op("take", {{"axis", 0}}), {x, channel.put(ints({99}))});
  EXPECT_THROW(channel.wait(bad), AsyncError);
  const Seen error = only(EventKind::worker_error);
  EXPECT_THAT(error.name, testing::HasSubstr("take"));
  EXPECT_THAT(error.detail, testing::HasSubstr("events.cc"));
}

TEST_F(Events, MemoryIsSampledWhenItChanges) {
  channel.start_profile();
  const Handle x = put_large(channel, 0, 1 << 18);
  channel.sync();
  const std::vector<Seen> samples = recorder.of(EventKind::memory_sample);
  ASSERT_FALSE(samples.empty());
  EXPECT_GE(samples.back().event.bytes, 1u << 20);
  EXPECT_GE(samples.back().event.committed, samples.back().event.bytes);
  channel.del(x);
  channel.sync();
  EXPECT_EQ(recorder.of(EventKind::memory_sample).back().event.bytes, 0u);
}

TEST_F(Events, MarksAndScopesAreTheCallers) {
  channel.start_profile();
  channel.push_scope("step");
  channel.mark("a message of mine");
  channel.pop_scope("step");
  EXPECT_EQ(only(EventKind::mark).name, "a message of mine");
  EXPECT_EQ(only(EventKind::scope_begin).thread, std::this_thread::get_id());
  EXPECT_THROW(channel.pop_scope("step"), Error);
  channel.push_scope("a");
  EXPECT_THROW(channel.pop_scope("b"), Error);
  channel.pop_scope("a");
}

TEST_F(Events, HostComputeIsSeenAsSuch) {
  const Handle x = channel.put(ints({1, 2, 3}));
  channel.start_profile();
  const Handle y = apply_one(channel, op("add"), {x, x});
  channel.del(y);
  EXPECT_EQ(only(EventKind::op_dispatch).event.reason, Reason::host);
  EXPECT_EQ(only(EventKind::op_execute_begin).event.reason, Reason::host);
  // The worker may have announced x by now.
  const auto produced = recorder.of(EventKind::tensor_produce);
  EXPECT_EQ(std::ranges::count_if(produced, [](const auto& each) { return each.event.reason == Reason::host; }), 1);
  EXPECT_EQ(recorder.count(EventKind::tensor_erase), 1u);
}

TEST_F(Events, AProfileAnnouncesWhatIsAliveAndClosesSurvivors) {
  const Handle resident = put_large(channel, 0);
  const Handle dropped = apply_one(channel, op("exp"), {resident});
  const Handle swapped = apply_one(channel, op("tanh"), {resident});
  const Handle poisoned = apply_one(channel, op("take", {{"axis", 0}}), {resident, channel.put(ints({99}))});
  EXPECT_THROW(channel.wait(poisoned), AsyncError);
  channel.drop(dropped);
  channel.swap_out(swapped);
  channel.sync();
  channel.start_profile();
  channel.sync();
  std::multiset<std::string> where;
  for (const Seen& seen : recorder.of(EventKind::tensor_declare)) {
    EXPECT_TRUE(seen.event.flag);
    where.insert(seen.detail);
  }
  EXPECT_EQ(where, (std::multiset<std::string>{"dropped", "poisoned", "resident", "resident", "swapped"}));  // with the index
  channel.stop_profile();
  channel.sync();
  EXPECT_EQ(recorder.count(EventKind::tensor_erase), 5u);
  EXPECT_EQ(recorder.all().front().event.kind, EventKind::profile_begin);
  EXPECT_EQ(recorder.all().back().event.kind, EventKind::profile_end);
}

// Whatever happens between start and stop: pairs are closed, every tensor that is declared is erased, bytes that came went.
TEST(EventBalance, HoldsOverAMixedProgram) {
  for (std::size_t lookahead : {0, 32}) {
    Recorder recorder;
    Channel channel(Options{.lookahead = lookahead, .enable_drop = 1, .enable_swap = 1});
    channel.observe(&recorder);
    const Handle before = put_large(channel, 0);
    channel.start_profile();
    std::vector<Handle> live{put_large(channel, 0), put_large(channel, 1)};
    for (int i = 0; i < 60; ++i) {
      const Handle a = live[static_cast<std::size_t>(i * 7) % live.size()], b = live[static_cast<std::size_t>(i * 5) % live.size()];
      live.push_back(apply_one(channel, op(i % 3 ? "add" : "multiply"), {a, b}));
      if (i % 4 == 0) live.push_back(apply_one(channel, op("slice", {{"start", Dims{0}}, {"stop", Dims{64}}, {"step", Dims{1}}}), {a}));
      if (i % 5 == 0) channel.drop(live.back());
      if (i % 6 == 0) channel.swap_out(live[1]);
      if (live.size() > 8) channel.del(live[2]), live.erase(live.begin() + 2);
    }
    channel.sync();
    channel.stop_profile();
    channel.sync();
    channel.observe(nullptr);
    std::map<std::uint64_t, int> open_commands, open_runs, open_waits, declared;
    std::map<std::uint64_t, std::int64_t> bytes;
    using enum EventKind;
    for (const Seen& seen : recorder.all()) {
      const Event& event = seen.event;
      if (event.kind == command_begin) ++open_commands[event.id];
      if (event.kind == command_end) --open_commands[event.id];
      if (event.kind == op_execute_begin) ++open_runs[event.id];
      if (event.kind == op_execute_end) --open_runs[event.id];
      if (event.kind == wait_begin) ++open_waits[event.id];
      if (event.kind == wait_end) --open_waits[event.id];
      if (event.kind == tensor_declare) ++declared[event.tensor];
      if (event.kind == tensor_erase) --declared[event.tensor];
      if (event.kind == tensor_produce) bytes[event.tensor] += static_cast<std::int64_t>(event.bytes);
      if (event.kind == tensor_release) bytes[event.tensor] -= static_cast<std::int64_t>(event.bytes);
    }
    for (const auto* counts : {&open_runs, &open_waits, &declared})
      for (const auto& [id, count] : *counts) EXPECT_EQ(count, 0) << id;
    for (const auto& [tensor, left] : bytes) EXPECT_EQ(left, 0) << tensor;
    for (const auto& [id, count] : open_commands) EXPECT_TRUE(count == 0 || std::abs(count) == 1) << id;  // start and stop themselves
    EXPECT_GT(recorder.count(swap_out), 0u);
    channel.del(before);
  }
}

TEST(Observers, MayNotUseTheChannelAndMayThrowWithoutHarm) {
  struct Nosy : Observer {
    void on_event(const Event& event) override {
      if (event.kind != EventKind::op_execute_begin && event.kind != EventKind::op_dispatch) return;
      told.push_back(message_of([&] { channel->sync(); }));
      throw std::runtime_error("an observer's mistake");
    }
    Channel* channel = nullptr;
    std::vector<std::string> told;
  } nosy;
  Channel channel(Options{});
  nosy.channel = &channel;
  channel.observe(&nosy);
  const Handle x = put_large(channel, 0);
  channel.start_profile();
  EXPECT_EQ(channel.get_value(apply_one(channel, op("exp"), {x})).to_vector<float>()[0], 1.f);
  channel.observe(nullptr);
  ASSERT_EQ(nosy.told.size(), 2u);
  for (const std::string& text : nosy.told) EXPECT_THAT(text, testing::HasSubstr("observer"));
}

}  // namespace
}  // namespace regrow
