// SPDX-License-Identifier: Apache-2.0
// Operations and lifetimes: what runs, what is written in place, what is poisoned, what is given back and when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/machine/model_shell.h"

namespace regrow::machine {
namespace {

using Kind = Action::Kind;
using Why = Action::Why;
constexpr std::size_t one = granule;

TEST(Operations, AnOperationRunsOnceAndItsOutputIsWhatItComputes) {
  ModelShell shell;
  shell.put(0, one, 5);
  shell.put(1, one, 7);
  shell.apply({.payload = 3, .inputs = {0, 1}, .outputs = {{.slot = 2, .bytes = one}, {.slot = 3, .bytes = 2 * one}}});
  EXPECT_EQ(shell.runs(false), 1u);
  const std::vector<Value> inputs = {5, 7};
  EXPECT_EQ(shell.value(2), kernel(3, 0, inputs));
  EXPECT_EQ(shell.value(3), kernel(3, 1, inputs));
  EXPECT_EQ(shell.live(), 5 * one);
  EXPECT_EQ(shell.machine.counters().applied, 1u);
  shell.machine.check();
}

TEST(Operations, WorkspaceIsGivenBackAndCountsInThePeak) {
  ModelShell shell;
  shell.put(0, one, 5);
  shell.apply({.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = one}}, .workspace = 4 * one});
  EXPECT_EQ(shell.live(), 2 * one);
  EXPECT_EQ(shell.machine.usage(0).peak_bytes, 6 * one);
  EXPECT_EQ(shell.machine.usage(0).workspace_bytes, 4 * one);
  shell.machine.reset_peak(0);
  EXPECT_EQ(shell.machine.usage(0).peak_bytes, 2 * one);
  EXPECT_EQ(shell.machine.usage(0).workspace_bytes, 0u);
}

TEST(Operations, TheLargestWorkingSetIsDistinctInputsOutputsAndWorkspace) {
  ModelShell shell;
  shell.put(0, 3 * one, 5);
  shell.put(1, 50 * one, 7);
  shell.apply({.payload = 1, .inputs = {0, 0}, .outputs = {{.slot = 2, .bytes = 2 * one}}, .workspace = 4 * one});
  EXPECT_EQ(shell.machine.usage(0).operation_bytes, 9 * one);
  shell.apply({.payload = 2, .inputs = {2}, .outputs = {{.slot = 3, .bytes = one}}});
  EXPECT_EQ(shell.machine.usage(0).operation_bytes, 9 * one);
  shell.machine.reset_peak(0);
  EXPECT_EQ(shell.machine.usage(0).operation_bytes, 0u);
  // In place: input and output are the same bytes.
  shell.apply(
      {.payload = 3, .inputs = {0}, .outputs = {{.slot = 4, .bytes = 3 * one, .reuse = 1}}, .deletes = {0}, .replayable = false});
  EXPECT_EQ(shell.count(Kind::released, Why::in_place), 1u);
  EXPECT_EQ(shell.machine.usage(0).operation_bytes, 3 * one);
}

TEST(Operations, ADeletedTensorThatNothingNeedsIsReleasedAndErasedOnce) {
  ModelShell shell;
  shell.put(0, one, 5);
  shell.del(0);
  ASSERT_EQ(shell.notices.size(), 2u);
  EXPECT_EQ(shell.notices[0].kind, Kind::released);
  EXPECT_EQ(shell.notices[0].why, Why::deleted);
  EXPECT_EQ(shell.notices[0].operand.place.bytes, one);
  EXPECT_EQ(shell.notices[1].kind, Kind::erased);
  EXPECT_EQ(shell.notices[1].why, Why::deleted);
  EXPECT_FALSE(shell.machine.has(0));
  EXPECT_EQ(shell.live(), 0u);
}

TEST(Operations, AGhostGivesItsBytesBackAtOnceAndGoesWithWhatNeededIt) {
  ModelShell shell;
  shell.put(0, one, 5);
  shell.apply({.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = one}}});
  shell.apply({.payload = 2, .inputs = {1}, .outputs = {{.slot = 2, .bytes = one}}});
  shell.del(1);
  EXPECT_EQ(shell.count(Kind::released, Why::deleted), 1u);
  EXPECT_EQ(shell.count(Kind::erased), 0u);
  EXPECT_EQ(shell.live(), 2 * one);
  EXPECT_EQ(shell.machine.counters().ghosts, 1u);
  shell.machine.check();
  shell.del(2);
  EXPECT_EQ(shell.count(Kind::erased, Why::deleted), 1u);
  EXPECT_EQ(shell.count(Kind::erased, Why::cascade), 1u);
  EXPECT_TRUE(shell.retired(1) && shell.retired(2));
  EXPECT_EQ(shell.machine.counters().ghosts, 0u);
  shell.machine.check();
}

TEST(Operations, AViewSharesItsStorageAndKeepsIt) {
  ModelShell shell;
  shell.put(0, one, 5);
  shell.apply({.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .view_of = 0}}});
  EXPECT_EQ(shell.runs(false), 0u) << "a view needs no kernel";
  EXPECT_TRUE(shell.retired(1));
  EXPECT_EQ(shell.machine.operand(0).storage, shell.machine.operand(1).storage);
  shell.del(0);
  EXPECT_EQ(shell.live(), one);
  EXPECT_EQ(shell.value(1), 5u);
  shell.del(1);
  EXPECT_EQ(shell.live(), 0u);
}

TEST(Operations, AViewOfADroppedTensorComesBackWithIt) {
  ModelShell shell;
  shell.put(0, one, 5);
  shell.apply({.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = one}}});
  const Value value = shell.value(1);
  shell.drop(1);
  shell.apply({.payload = 2, .inputs = {1}, .outputs = {{.slot = 2, .view_of = 0}}});
  EXPECT_EQ(shell.machine.residency(2), Residency::dropped) << "naming a view does not bring bytes back";
  EXPECT_EQ(shell.value(2), value);
  EXPECT_EQ(shell.machine.residency(1), Residency::resident);
}

TEST(Operations, AnInputThatDiesHereLendsItsPlace) {
  ModelShell shell;
  shell.put(0, one, 5);
  const Place place = shell.machine.operand(0).place;
  shell.apply({.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = one, .reuse = 1}}, .deletes = {0}});
  EXPECT_EQ(shell.machine.operand(1).place, place);
  EXPECT_EQ(shell.count(Kind::released, Why::in_place), 1u);
  EXPECT_EQ(shell.machine.usage(0).peak_bytes, one);
  EXPECT_EQ(shell.machine.counters().in_place, 1u);
  const std::vector<Value> inputs = {5};
  EXPECT_EQ(shell.value(1), kernel(1, 0, inputs));
}

TEST(Operations, AGhostMayLendItsPlaceBecauseItCanBeMadeAgain) {
  ModelShell shell;
  shell.put(0, one, 5);
  shell.apply({.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = one}}});
  shell.apply({.payload = 2, .inputs = {1}, .outputs = {{.slot = 2, .bytes = one}}});
  shell.apply({.payload = 3, .inputs = {1}, .outputs = {{.slot = 3, .bytes = one, .reuse = 1}}, .deletes = {1}});
  EXPECT_EQ(shell.machine.counters().in_place, 1u);
  const Value two = shell.value(2), three = shell.value(3);
  shell.drop(2);
  shell.drop(3);
  EXPECT_EQ(shell.value(2), two);
  EXPECT_EQ(shell.value(3), three);
  shell.machine.check();
}

struct NotInPlace {
  const char* why;
  void (*prepare)(ModelShell&);
  Call call;
};

class OutOfPlace : public testing::TestWithParam<NotInPlace> {};

TEST_P(OutOfPlace, WhatOthersMaySeeIsNotWrittenOver) {
  ModelShell shell;
  shell.put(0, one, 5);
  if (GetParam().prepare) GetParam().prepare(shell);
  shell.apply(GetParam().call);
  EXPECT_EQ(shell.machine.counters().in_place, 0u) << GetParam().why;
  shell.machine.check();
}

INSTANTIATE_TEST_SUITE_P(
    Operations, OutOfPlace,
    testing::Values(
        NotInPlace{"it lives on", nullptr, {.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = one, .reuse = 1}}}},
        NotInPlace{"not offered", nullptr, {.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = one}}, .deletes = {0}}},
        NotInPlace{"another size", nullptr,
                   {.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = 2 * one, .reuse = 1}}, .deletes = {0}}},
        NotInPlace{"it may fail half way", nullptr,
                   {.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = one, .reuse = 1}}, .deletes = {0}, .fallible = true}},
        NotInPlace{"a view is alive",
                   [](ModelShell& shell) { shell.apply({.payload = 9, .inputs = {0}, .outputs = {{.slot = 8, .view_of = 0}}}); },
                   {.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = one, .reuse = 1}}, .deletes = {0}}},
        NotInPlace{"it is read through another view as well",
                   [](ModelShell& shell) { shell.apply({.payload = 9, .inputs = {0}, .outputs = {{.slot = 8, .view_of = 0}}}); },
                   {.payload = 1, .inputs = {0, 8}, .outputs = {{.slot = 1, .bytes = one, .reuse = 3}}, .deletes = {0, 8}}},
        NotInPlace{"it is exported", [](ModelShell& shell) { shell.machine.export_storage(0), shell.carry_out(); },
                   {.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = one, .reuse = 1}}, .deletes = {0}}},
        NotInPlace{"its second operand may not be written over", nullptr,
                   {.payload = 1, .inputs = {0, 0}, .outputs = {{.slot = 1, .bytes = one, .reuse = 1}}, .deletes = {0}}}));

TEST(Operations, AnInputReadTwiceLendsItsPlaceIfBothOperandsMayBeWrittenOver) {
  ModelShell shell;
  shell.put(0, one, 5);
  shell.apply({.payload = 1, .inputs = {0, 0}, .outputs = {{.slot = 1, .bytes = one, .reuse = 3}}, .deletes = {0}});
  EXPECT_EQ(shell.machine.counters().in_place, 1u);
}

TEST(Operations, OnePlaceIsLentToOneOutput) {
  ModelShell shell;
  shell.put(0, one, 5);
  shell.apply({.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = one, .reuse = 1}, {.slot = 2, .bytes = one, .reuse = 1}},
               .deletes = {0}});
  EXPECT_EQ(shell.machine.counters().in_place, 1u);
  EXPECT_NE(shell.machine.operand(1).place, shell.machine.operand(2).place);
}

TEST(Operations, ForeignMemoryIsReadWhereItIsAndNeitherChargedNorWrittenOver) {
  ModelShell shell;
  shell.put_foreign(0, one, 5);
  EXPECT_EQ(shell.live(), 0u);
  shell.apply({.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = one, .reuse = 1}}, .deletes = {0}});
  EXPECT_EQ(shell.machine.counters().in_place, 0u);
  EXPECT_EQ(shell.count(Kind::erased), 1u);
  EXPECT_EQ(shell.count(Kind::released), 0u);
  const std::vector<Value> inputs = {5};
  EXPECT_EQ(shell.value(1), kernel(1, 0, inputs));
}

TEST(Operations, AFailedRunPoisonsItsOutputsAndTheirDependents) {
  ModelShell shell;
  shell.put(0, one, 5);
  shell.run_errors[1] = 42;
  shell.apply({.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = one}, {.slot = 2, .bytes = one}}, .fallible = true});
  EXPECT_EQ(shell.machine.error_of(1), 42u);
  EXPECT_EQ(shell.machine.error_of(2), 42u);
  EXPECT_TRUE(shell.retired(1));
  EXPECT_EQ(shell.live(), one);
  shell.apply({.payload = 2, .inputs = {0, 1}, .outputs = {{.slot = 3, .bytes = one}}});
  EXPECT_EQ(shell.runs(false), 0u);
  EXPECT_EQ(shell.machine.error_of(3), 42u);
  EXPECT_TRUE(shell.retired(2));
  EXPECT_EQ(shell.machine.residency(3), Residency::poisoned);
  EXPECT_EQ(shell.machine.error_of(0), 0u);
  EXPECT_EQ(shell.value(0), 5u);
  for (Slot slot : {0, 1, 2, 3}) shell.del(slot);
  EXPECT_EQ(shell.machine.counters().live, 0u);
  shell.machine.check();
}

TEST(Operations, TheFirstPoisonedInputIsTheOneInherited) {
  ModelShell shell;
  shell.fill_error = 7;
  shell.put(0, one, 0);
  shell.fill_error = 8;
  shell.put(1, one, 0);
  shell.apply({.payload = 1, .inputs = {1, 0}, .outputs = {{.slot = 2, .bytes = one}}});
  EXPECT_EQ(shell.machine.error_of(2), 8u);
  EXPECT_EQ(shell.live(), 0u);
}

TEST(Operations, AFailedRunPoisonsItsViewsAndNotWhatTheyWouldHaveShared) {
  ModelShell shell;
  shell.put(0, one, 5);
  shell.run_errors[1] = 42;
  shell.apply({.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .view_of = 0}, {.slot = 2, .bytes = one}}});
  EXPECT_EQ(shell.machine.error_of(1), 42u);
  EXPECT_EQ(shell.machine.error_of(0), 0u);
  EXPECT_EQ(shell.value(0), 5u);
  shell.machine.check();
}

TEST(Operations, OutputsMayDieInTheOperationThatMakesThem) {
  ModelShell shell;
  shell.put(0, one, 5);
  const Call call = {.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .view_of = 0}, {.slot = 2, .bytes = one}}, .deletes = {1, 2}};
  shell.apply(call);
  EXPECT_EQ(shell.runs(false), 1u);
  EXPECT_EQ(shell.live(), one);
  EXPECT_TRUE(shell.retired(1));
  shell.machine.check();
  Call failing = call;
  failing.payload = 2;
  shell.run_errors[2] = 42;
  shell.apply(failing);
  EXPECT_FALSE(shell.machine.has(1) || shell.machine.has(2));
  EXPECT_EQ(shell.machine.counters().live, 1u);
  EXPECT_EQ(shell.value(0), 5u);
  shell.machine.check();
}

TEST(Operations, SizesAreMeasuredBeforeTheRun) {
  ModelShell shell;
  shell.put(0, one, 5);
  shell.sizes = {3 * one};
  shell.apply({.payload = 1, .inputs = {0}, .outputs = {{.slot = 1}}, .measure = true});
  EXPECT_EQ(shell.live(), 4 * one);
  const Value value = shell.value(1);
  shell.drop(1);
  EXPECT_EQ(shell.live(), one);
  EXPECT_EQ(shell.value(1), value) << "the sizes are remembered";
  shell.measure_error = 9;
  shell.apply({.payload = 2, .inputs = {0}, .outputs = {{.slot = 2}}, .measure = true});
  EXPECT_EQ(shell.runs(false), 0u);
  EXPECT_EQ(shell.machine.error_of(2), 9u);
}

TEST(Operations, AnErrorBeforeTheOperationCouldBeDescribedPoisonsItsOutputs) {
  ModelShell shell;
  shell.put(0, one, 5);
  const std::vector<Slot> outputs = {1, 2}, deletes = {0};
  shell.machine.apply_failed(outputs, deletes, 11);
  shell.carry_out();
  EXPECT_EQ(shell.machine.error_of(1), 11u);
  EXPECT_EQ(shell.machine.error_of(2), 11u);
  EXPECT_FALSE(shell.machine.has(0));
  EXPECT_EQ(shell.live(), 0u);
}

TEST(Operations, WhatIsExportedStaysChargedUntilTheLastUnexport) {
  ModelShell shell;
  shell.put(0, one, 5);
  const StorageId storage = shell.machine.operand(0).storage;
  shell.machine.export_storage(0), shell.carry_out();
  shell.machine.export_storage(0), shell.carry_out();
  shell.del(0);
  EXPECT_EQ(shell.live(), one);
  shell.unexport(storage);
  EXPECT_EQ(shell.live(), one);
  shell.unexport(storage);
  EXPECT_EQ(shell.live(), 0u);
  EXPECT_EQ(shell.machine.counters().live, 0u);
}

TEST(Operations, TensorsOfNoBytesHaveNoPlaceAndLiveLikeOthers) {
  ModelShell shell;
  shell.put(0, 0, 0);
  shell.apply({.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = 0, .reuse = 1}}, .deletes = {0}});
  EXPECT_EQ(shell.machine.residency(1), Residency::resident);
  shell.swap_out(1);
  EXPECT_EQ(shell.machine.residency(1), Residency::swapped);
  shell.swap_in(1);
  EXPECT_EQ(shell.machine.residency(1), Residency::resident);
  shell.del(1);
  EXPECT_EQ(shell.machine.counters().live, 0u);
}

TEST(Operations, AnOperationWithoutOutputsRunsAndRetires) {
  ModelShell shell;
  shell.put(0, one, 5);
  shell.apply({.payload = 1, .inputs = {0}, .replayable = false});
  EXPECT_EQ(shell.runs(false), 1u);
  EXPECT_TRUE(shell.retired(1));
}

TEST(Operations, DevicesHaveTheirOwnAccounts) {
  ModelShell shell({.devices = 2});
  shell.put(0, one, 5, 0);
  shell.apply({.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = one, .reuse = 1}}, .deletes = {0}, .device = 1,
               .replayable = false});
  EXPECT_EQ(shell.machine.usage(0).live_bytes, 0u);
  EXPECT_EQ(shell.machine.usage(1).live_bytes, one);
  EXPECT_EQ(shell.machine.counters().in_place, 0u) << "another device's memory is not written in place";
  EXPECT_FALSE(shell.machine.droppable(1)) << "a copy between devices does not run again";
}

TEST(Operations, ACommandBeforeTheLastIsFinishedIsAMistake) {
  Machine machine;
  machine.put(0, 0, one);
  EXPECT_THROW(machine.put(1, 0, one), std::logic_error);
}

}  // namespace
}  // namespace regrow::machine
