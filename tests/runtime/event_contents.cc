// SPDX-License-Identifier: Apache-2.0
// What each kind of event says: every field that event.h promises for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/runtime/gate.h"
#include "tests/runtime/recorder.h"

namespace regrow {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using enum EventKind;

class EventContents : public testing::Test {
 protected:
  void SetUp() override { channel.observe(&recorder); }
  void TearDown() override { channel.observe(nullptr); }
  Seen only(EventKind kind) {
    const std::vector<Seen> found = recorder.of(kind);
    EXPECT_EQ(found.size(), 1u) << name_of(kind);
    return found.empty() ? Seen{} : found[0];
  }
  std::vector<std::string> names(EventKind kind) {
    std::vector<std::string> found;
    for (const Seen& seen : recorder.of(kind)) found.push_back(seen.name);
    return found;
  }
  std::vector<std::string> details(EventKind kind) {
    std::vector<std::string> found;
    for (const Seen& seen : recorder.of(kind)) found.push_back(seen.detail);
    return found;
  }

  Recorder recorder;
  Channel channel{Options{.lookahead = 0, .enable_drop = 1, .enable_swap = 1}};
};

Op copy_to(int device) { return op("copy_to", {{"device", Device(device)}}); }

TEST(EventKinds, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (int kind = 0; kind <= static_cast<int>(profile_end); ++kind) names.insert(name_of(static_cast<EventKind>(kind)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(profile_end) + 1);
  EXPECT_EQ(name_of(command_queued), "command_queued");
  EXPECT_EQ(name_of(regrow_end), "regrow_end");
  EXPECT_EQ(name_of(profile_end), "profile_end");
}

TEST_F(EventContents, CommandsAreNamedAndNumberedInTheOrderOfTheStream) {
  const Handle x = put_large(channel, 0);
  channel.sync();
  channel.start_profile();
  const Handle y = apply_one(channel, op("exp"), {x});
  const Handle there = apply_one(channel, copy_to(2), {y});
  channel.drop(y);
  channel.del(x);
  channel.set_option("lookahead", 0);
  channel.sync();
  channel.get_value(there);  // a caller may be told before its command has ended
  for (EventKind kind : {command_queued, command_begin, command_end}) {
    std::vector<Seen> of_kind = recorder.of(kind);
    // The worker sees its own start as a beginning that is seen no more and an end.
    std::erase_if(of_kind, [](const Seen& seen) { return seen.name == "start_profile"; });
    ASSERT_GE(of_kind.size(), 6u) << name_of(kind);
    of_kind.resize(6);
    std::vector<std::string> found;
    for (const Seen& seen : of_kind) {
      found.push_back(seen.name);
      EXPECT_EQ(seen.thread == std::this_thread::get_id(), kind == command_queued);
      EXPECT_EQ(seen.event.id, of_kind[0].event.id + found.size() - 1);
    }
    EXPECT_THAT(found, ElementsAre("exp", "copy_to", "drop", "del", "set_option", "sync")) << name_of(kind);
    EXPECT_EQ(of_kind[1].event.device, 2);
  }
}

TEST_F(EventContents, AnOperationOnAnotherDeviceSaysWhichOne) {
  const Handle here = put_large(channel, 0);
  channel.sync();
  channel.start_profile();
  const Handle x = apply_one(channel, copy_to(1), {here});
  const Handle y = apply_one(channel, op("exp"), {x});
  channel.wait(y);
  channel.swap_out(y);
  channel.swap_in(y);
  channel.drop(y);
  channel.wait(apply_one(channel, op("negative"), {y}));
  channel.del(y);
  channel.sync();
  std::uint64_t tensor = 0;
  for (const Seen& seen : recorder.of(tensor_declare))
    if (seen.name == "exp:0") tensor = seen.event.tensor;
  ASSERT_NE(tensor, 0u);
  std::map<EventKind, std::size_t> about;
  for (const Seen& seen : recorder.all()) {
    const bool runs_it = seen.event.kind == op_execute_begin || seen.event.kind == op_dispatch;
    if (seen.event.tensor != tensor && !(runs_it && seen.outputs == std::vector{tensor})) continue;
    ++about[seen.event.kind];
    EXPECT_EQ(seen.event.device, 1) << name_of(seen.event.kind);
  }
  for (EventKind kind : {op_dispatch, op_execute_begin, tensor_declare, tensor_produce, tensor_use, tensor_release, shape_inferred, drop,
                         swap_out, swap_in})
    EXPECT_GT(about[kind], 0u) << name_of(kind);
}

TEST_F(EventContents, AProducedTensorIsDescribedWithItsBytesAViewHasNoneOfItsOwn) {
  const Handle x = put_large(channel, 0);
  channel.start_profile();
  channel.sync();
  const Handle y = apply_one(channel, op("exp"), {x});
  const Handle view = apply_one(channel, op("slice", {{"start", Dims{0}}, {"stop", Dims{10}}, {"step", Dims{1}}}), {y});
  channel.wait(view);
  std::vector<Seen> made = recorder.of(tensor_produce), declared = recorder.of(tensor_declare);
  ASSERT_EQ(made.size(), 3u);
  ASSERT_EQ(declared.size(), 3u);
  EXPECT_TRUE(declared[0].event.flag) << "x, which was there when the profile began";
  for (auto* each : {&made, &declared}) {
    std::erase_if(*each, [&, x_id = declared[0].event.tensor](const Seen& seen) { return seen.event.tensor == x_id; });
    ASSERT_EQ(each->size(), 2u);
  }
  EXPECT_EQ(made[0].shape, Shape{64});
  EXPECT_EQ(made[0].event.bytes, 256u);
  EXPECT_EQ(made[1].shape, Shape{10});
  EXPECT_EQ(made[1].event.bytes, 0u);
  EXPECT_EQ(declared[0].event.tensor, made[0].event.tensor);
  EXPECT_EQ(declared[1].event.tensor, made[1].event.tensor);
  EXPECT_FALSE(declared[0].event.flag);
  channel.del(view);
  channel.sync();
  EXPECT_EQ(only(tensor_erase).event.tensor, made[1].event.tensor);
  EXPECT_THAT(recorder.of(tensor_release), IsEmpty());
}

TEST_F(EventContents, APutIsDeclaredUnderItsScope) {
  channel.start_profile();
  channel.push_scope("input");
  const Handle x = put_large(channel, 0);
  channel.pop_scope("input");
  channel.sync();
  const Seen declared = only(tensor_declare), made = only(tensor_produce);
  EXPECT_EQ(declared.name, "input.put");
  EXPECT_EQ(declared.shape, Shape{64});
  EXPECT_EQ(declared.event.bytes, 256u);
  EXPECT_EQ(declared.thread, std::this_thread::get_id());
  EXPECT_EQ(made.event.tensor, declared.event.tensor);
  EXPECT_NE(made.thread, declared.thread);
  channel.del(x);
}

TEST_F(EventContents, AUseNamesTheOperationAndTheTensorOnceForEachOperand) {
  const Handle x = put_large(channel, 0);
  channel.sync();
  channel.start_profile();
  channel.wait(apply_one(channel, op("add"), {x, x}));
  const std::vector<Seen> uses = recorder.of(tensor_use);
  ASSERT_EQ(uses.size(), 2u);
  const Seen run = only(op_execute_begin);
  for (const Seen& use : uses) {
    EXPECT_EQ(use.event.id, run.event.id);
    EXPECT_EQ(use.event.tensor, run.inputs.at(0));
  }
}

TEST_F(EventContents, AReleaseSaysWhy) {
  const Handle x = put_large(channel, 0);
  const Handle y = apply_one(channel, op("exp"), {x});
  const Handle z = apply_one(channel, op("exp"), {y});
  channel.sync();
  channel.start_profile();
  channel.drop(z);
  channel.get_value(z);
  channel.swap_out(z);
  channel.swap_in(z);
  channel.del(z);
  channel.sync();
  EXPECT_THAT(details(tensor_release), ElementsAre("dropped", "swapped", "deleted"));
  for (const Seen& seen : recorder.of(tensor_release)) EXPECT_EQ(seen.event.bytes, 256u);
  EXPECT_EQ(only(tensor_erase).event.tensor, recorder.of(tensor_release).at(0).event.tensor);
  EXPECT_EQ(only(drop).event.bytes, 256u);
  EXPECT_EQ(only(swap_out).event.bytes, 256u);
  channel.stop_profile();
  channel.sync();
  EXPECT_THAT(details(tensor_release), Contains("profile ends").Times(2));  // x and y, which live on
}

TEST(EventsInPlace, AReleaseSaysThatAnOperationTookTheMemory) {
  Recorder recorder;
  Channel channel(Options{});
  Gate gate;
  channel.observe(&recorder);
  gate.close_on(channel);
  channel.start_profile();
  const Handle x = put_large(channel, 0);
  const Handle total = apply_one(channel, op("sum", {{"axis", Axes{0}}, {"keepdims", true}}), {x});
  const Handle y = apply_one(channel, op("subtract"), {x, total});
  channel.del(x);
  gate.open();
  channel.wait(y);
  std::vector<std::string> why;
  for (const Seen& seen : recorder.of(tensor_release)) why.push_back(seen.detail);
  EXPECT_THAT(why, ElementsAre("in_place"));
  channel.observe(nullptr);
}

TEST_F(EventContents, EveryWaitIsNamedAndItsNotificationSaysWhetherItFailed) {
  const Handle x = put_large(channel, 0);
  const Handle bad = apply_one(channel, op("take", {{"axis", 0}}), {x, channel.put(ints({99}))});
  channel.start_profile();
  channel.get_value(x);
  channel.wait(x);
  channel.get_dev_tensor(x);
  channel.memory();
  EXPECT_THROW(channel.wait(bad), AsyncError);
  channel.sync();
  EXPECT_THAT(names(wait_begin), ElementsAre("read", "settle", "hand_out", "report", "settle", "sync"));
  EXPECT_EQ(names(wait_end), names(wait_begin));
  EXPECT_EQ(names(notify), names(wait_begin));
  std::vector<bool> failed;
  for (const Seen& seen : recorder.of(notify)) failed.push_back(seen.event.flag);
  EXPECT_EQ(failed, (std::vector<bool>{false, false, false, false, true, false}));
}

TEST_F(EventContents, AnInferredShapeIsDescribed) {
  const Handle x = put_large(channel, 0);
  channel.sync();
  channel.start_profile();
  const Handle y = apply_one(channel, op("reshape", {{"shape", Dims{4, 16}}}), {x});
  const Seen inferred = only(shape_inferred);
  EXPECT_EQ(inferred.name, "reshape");
  EXPECT_EQ(inferred.shape, (Shape{4, 16}));
  EXPECT_EQ(inferred.event.tensor, only(op_dispatch).outputs.at(0));
  channel.wait(y);
}

TEST_F(EventContents, ARecomputationIsBracketedByItsOperation) {
  const Handle x = put_large(channel, 0);
  const Handle y = apply_one(channel, op("exp"), {x});
  channel.sync();
  channel.start_profile();
  channel.drop(y);
  channel.get_value(y);
  std::vector<EventKind> order;
  for (const Seen& seen : recorder.all()) {
    const EventKind kind = seen.event.kind;
    if (kind == regrow_begin || kind == regrow_end || kind == op_execute_begin || kind == op_execute_end) {
      order.push_back(kind);
      EXPECT_EQ(seen.name, "exp");
      EXPECT_EQ(seen.event.reason, Reason::regrow);
    }
  }
  EXPECT_THAT(order, ElementsAre(regrow_begin, op_execute_begin, op_execute_end, regrow_end));
}

TEST_F(EventContents, AFailureIsToldOnTheWorkerAndItsExecutionEnds) {
  const Handle x = put_large(channel, 0);
  channel.sync();
  channel.start_profile();
  EXPECT_THROW(channel.wait(apply_one(channel, op("take", {{"axis", 0}}), {x, channel.put(ints({99}))})), AsyncError);
  const Seen error = only(worker_error);
  EXPECT_NE(error.thread, std::this_thread::get_id());
  EXPECT_THAT(error.detail, testing::HasSubstr("event_contents.cc:"));
  EXPECT_EQ(recorder.count(op_execute_begin), 1u);
  EXPECT_EQ(recorder.count(op_execute_end), 1u);
}

// Also where a device's memory changes in a command that names another.
TEST_F(EventContents, EachDeviceIsSampledForItself) {
  const Handle here = put_large(channel, 0, 1 << 16);
  channel.sync();
  channel.start_profile();
  const Handle there = apply_one(channel, copy_to(1), {here});
  channel.sync();
  channel.del(there);
  channel.sync();
  std::map<int, std::vector<std::size_t>> live;
  for (const Seen& seen : recorder.of(memory_sample)) live[seen.event.device].push_back(seen.event.bytes);
  EXPECT_THAT(live[0], ElementsAre(std::size_t{1} << 18));
  EXPECT_THAT(live[1], ElementsAre(std::size_t{1} << 18, 0u));
}

TEST_F(EventContents, ScopesAndMarksCarryTheirTextBothWays) {
  channel.start_profile();
  channel.push_scope("step");
  channel.mark("half way");
  channel.pop_scope("step");
  EXPECT_EQ(only(scope_begin).name, "step");
  EXPECT_EQ(only(scope_end).name, "step");
  EXPECT_EQ(only(mark).thread, std::this_thread::get_id());
  EXPECT_LE(only(scope_begin).event.time_ns, only(mark).event.time_ns);
  EXPECT_LE(only(mark).event.time_ns, only(scope_end).event.time_ns);
}

TEST_F(EventContents, AProfileHasABeginningAndAnEnd) {
  for (int round = 1; round <= 2; ++round) {
    channel.start_profile();
    channel.start_profile();  // nothing
    channel.stop_profile();
    channel.stop_profile();
    channel.sync();
    EXPECT_EQ(recorder.count(profile_begin), static_cast<std::size_t>(round));
    EXPECT_EQ(recorder.count(profile_end), static_cast<std::size_t>(round));
  }
}

// Values that never left the host live and end like the others; so do failed ones.
TEST(EventsAtClose, EveryTensorThatWasDeclaredIsErasedAndTheProfileEnds) {
  Recorder recorder;
  {
    Channel channel(Options{});
    channel.observe(&recorder);
    const Handle two = channel.put(ints({1, 2}));
    const Handle early = apply_one(channel, op("add"), {two, two});  // on the host
    channel.start_profile();
    const Handle late = apply_one(channel, op("add"), {early, early});
    const Handle x = put_large(channel, 0);
    const Handle bad = apply_one(channel, op("take", {{"axis", 0}}), {x, channel.put(ints({99}))});
    const Handle there = apply_one(channel, copy_to(1), {x});
    EXPECT_THROW(channel.wait(apply_one(channel, op("exp"), {bad})), AsyncError);
    channel.wait(there);
    channel.get_value(late);
  }
  std::map<std::uint64_t, int> declared;
  for (const Seen& seen : recorder.all()) {
    if (seen.event.kind == tensor_declare) ++declared[seen.event.tensor];
    if (seen.event.kind == tensor_erase) --declared[seen.event.tensor];
  }
  EXPECT_GE(declared.size(), 7u);
  for (const auto& [tensor, count] : declared) EXPECT_EQ(count, 0) << tensor;
  EXPECT_EQ(recorder.count(profile_end), 1u);
}

}  // namespace
}  // namespace regrow
