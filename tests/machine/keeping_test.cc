// SPDX-License-Identifier: Apache-2.0
// What is kept so that values can be recomputed, and when it is cut: DESIGN 5.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/machine/model_shell.h"

namespace regrow::machine {
namespace {

using Kind = Action::Kind;
constexpr std::size_t one = granule;

// source 0 -> 1 -> 2 -> 3, with these sizes.
void chain_of(ModelShell& shell, std::initializer_list<std::size_t> bytes) {
  Slot slot = 0;
  for (std::size_t each : bytes) {
    if (slot == 0) shell.put(0, each, 5);
    else shell.apply({.payload = slot, .inputs = {slot - 1}, .outputs = {{.slot = slot, .bytes = each}}});
    ++slot;
  }
}

Value chain_value(Slot length) {
  Value value = 5;
  for (Slot slot = 1; slot <= length; ++slot) value = kernel(slot, 0, {&value, 1});
  return value;
}

TEST(Keeping, WithoutABudgetTheNearestLiveDescendantsOfADeadSourceBecomeSources) {
  ModelShell shell;
  chain_of(shell, {one, one, one, one});
  shell.del(1);
  EXPECT_TRUE(shell.machine.droppable(2));
  shell.del(0);
  EXPECT_EQ(shell.runs(true), 0u);
  EXPECT_EQ(shell.count(Kind::erased), 2u) << "the source and the ghost behind it";
  EXPECT_TRUE(shell.retired(1) && shell.retired(2));
  EXPECT_FALSE(shell.machine.droppable(2));
  EXPECT_TRUE(shell.machine.droppable(3)) << "it has a live source";
  EXPECT_EQ(shell.live(), 2 * one);
  EXPECT_EQ(shell.machine.counters().cuts, 1u);
  shell.machine.check();
}

TEST(Keeping, WhatWasDroppedIsRegrownBeforeTheCut) {
  ModelShell shell;
  chain_of(shell, {one, one, one});
  shell.del(1);
  shell.drop(2);
  shell.del(0);
  EXPECT_EQ(shell.runs(true), 2u);
  EXPECT_EQ(shell.machine.residency(2), Residency::resident);
  EXPECT_EQ(shell.live(), one);
  EXPECT_EQ(shell.value(2), chain_value(2));
  shell.machine.check();
}

TEST(Keeping, WhatIsSwappedOutStaysSwappedOutAtACut) {
  ModelShell shell;
  chain_of(shell, {one, one});
  shell.swap_out(1);
  shell.del(0);
  EXPECT_EQ(shell.machine.residency(1), Residency::swapped);
  EXPECT_FALSE(shell.machine.droppable(1));
  EXPECT_EQ(shell.value(1), chain_value(1));
}

TEST(Keeping, WithABudgetASourceIsHeldWhileItIsSmallerThanItsFrontier) {
  ModelShell shell;
  shell.set_budget(100 * one);
  chain_of(shell, {one, one, 2 * one});
  shell.del(1);
  shell.del(0);
  EXPECT_EQ(shell.machine.counters().cuts, 0u);
  EXPECT_EQ(shell.machine.counters().ghosts, 2u);
  EXPECT_EQ(shell.live(), 3 * one) << "the held source is charged";
  shell.drop(2);
  EXPECT_EQ(shell.live(), one);
  EXPECT_EQ(shell.value(2), chain_value(2));
  shell.machine.check();
}

TEST(Keeping, ASourceAsLargeAsItsFrontierIsNotHeld) {
  ModelShell shell;
  shell.set_budget(100 * one);
  chain_of(shell, {2 * one, one, 2 * one});
  shell.del(1);
  shell.del(0);
  EXPECT_EQ(shell.machine.counters().cuts, 1u);
  EXPECT_EQ(shell.machine.counters().ghosts, 0u);
  EXPECT_EQ(shell.live(), 2 * one);
}

TEST(Keeping, TheFrontierCountsWhatIsDroppedAsWell) {
  ModelShell shell;
  shell.set_budget(100 * one);
  chain_of(shell, {one, 2 * one});
  shell.drop(1);
  shell.del(0);
  EXPECT_EQ(shell.machine.counters().cuts, 0u) << "decisions depend on sizes, never on residency";
  EXPECT_EQ(shell.value(1), chain_value(1));
}

TEST(Keeping, AFrontierThatShrinksIsCut) {
  ModelShell shell;
  shell.set_budget(100 * one);
  shell.put(0, 2 * one, 5);
  shell.apply({.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = 2 * one}}});
  shell.apply({.payload = 2, .inputs = {0}, .outputs = {{.slot = 2, .bytes = one}}});
  shell.del(0);
  EXPECT_EQ(shell.machine.counters().cuts, 0u);
  shell.del(1);
  EXPECT_EQ(shell.machine.counters().cuts, 1u);
  EXPECT_FALSE(shell.machine.droppable(2));
  EXPECT_EQ(shell.live(), one);
}

TEST(Keeping, TheFrontierMovesOnToTheDescendantsOfWhatDies) {
  ModelShell shell;
  shell.set_budget(100 * one);
  chain_of(shell, {one, 2 * one, 4 * one});
  shell.del(0);  // held for 1
  shell.del(1);  // held for 2
  EXPECT_EQ(shell.machine.counters().cuts, 0u);
  shell.drop(2);
  EXPECT_EQ(shell.value(2), chain_value(2));
  shell.apply({.payload = 9, .inputs = {2}, .outputs = {{.slot = 3, .bytes = one}}});
  shell.del(2);  // the frontier is 3, as large as what is held
  EXPECT_EQ(shell.machine.counters().cuts, 1u);
  EXPECT_EQ(shell.machine.counters().ghosts, 0u);
  EXPECT_EQ(shell.live(), one);
  shell.machine.check();
}

TEST(Keeping, AllThatIsHeldForOneFrontierCountsTogether) {
  ModelShell shell;
  shell.set_budget(100 * one);
  shell.put(0, one, 5);
  shell.put(1, one, 6);
  shell.apply({.payload = 1, .inputs = {0, 1}, .outputs = {{.slot = 2, .bytes = 2 * one}}});
  shell.del(0);
  EXPECT_EQ(shell.machine.counters().cuts, 0u);
  shell.del(1);
  EXPECT_EQ(shell.machine.counters().cuts, 1u);
  EXPECT_EQ(shell.live(), 2 * one);
}

TEST(Keeping, LiftingTheBudgetLetsGoOfWhatWasHeldWithTheNextCommand) {
  ModelShell shell;
  shell.set_budget(100 * one);
  chain_of(shell, {one, 2 * one});
  shell.del(0);
  shell.drop(1);
  shell.set_budget(0);
  shell.machine.check();
  shell.put(5, one, 1);
  shell.del(5);
  EXPECT_EQ(shell.machine.counters().cuts, 1u);
  EXPECT_EQ(shell.machine.residency(1), Residency::resident);
  EXPECT_EQ(shell.value(1), chain_value(1));
}

TEST(Keeping, AHandWrittenUpdateCutsSoThatItIsWrittenInPlace) {
  ModelShell shell;
  shell.put(0, one, 5);                                                                         // w
  shell.apply({.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = one}}});            // g = f(w)
  shell.apply({.payload = 2, .inputs = {0}, .outputs = {{.slot = 2, .bytes = 64}}});             // a loss, kept
  const Value loss = shell.value(2);
  shell.drop(2);
  shell.apply({.payload = 3, .inputs = {0, 1}, .outputs = {{.slot = 3, .bytes = one, .reuse = 1}}, .deletes = {0, 1}});
  EXPECT_EQ(shell.machine.counters().in_place, 1u);
  EXPECT_EQ(shell.runs(true), 1u) << "the loss, before the old value goes";
  EXPECT_FALSE(shell.machine.droppable(3));
  EXPECT_EQ(shell.value(2), loss);
  EXPECT_EQ(shell.machine.counters().recipes, 0u);
  shell.machine.check();
}

TEST(Keeping, AStateOperationCutsAtOnceWhateverTheBudget) {
  ModelShell shell;
  shell.set_budget(100 * one);
  shell.put(0, one, 5);
  shell.put(1, one, 6);
  shell.apply({.payload = 1, .inputs = {0}, .outputs = {{.slot = 2, .bytes = 4 * one}}});  // another reader of the old value
  const Value reader = shell.value(2);
  shell.drop(2);
  shell.apply({.payload = 2, .inputs = {0, 1}, .outputs = {{.slot = 3, .bytes = one, .reuse = 1}}, .deletes = {0}, .state = true});
  EXPECT_EQ(shell.runs(true), 1u);
  EXPECT_EQ(shell.machine.counters().in_place, 1u);
  EXPECT_FALSE(shell.machine.droppable(3)) << "its output is a source";
  EXPECT_FALSE(shell.machine.droppable(2));
  EXPECT_EQ(shell.value(2), reader);
  shell.machine.check();
}

TEST(Keeping, AStateOperationLeavesAnOldValueAloneThatIsStillNamed) {
  ModelShell shell;
  shell.put(0, one, 5);
  shell.apply({.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = one}}});
  shell.apply({.payload = 2, .inputs = {0}, .outputs = {{.slot = 2, .bytes = one, .reuse = 1}}, .state = true});
  EXPECT_EQ(shell.machine.counters().in_place, 0u);
  EXPECT_TRUE(shell.machine.droppable(1));
  EXPECT_EQ(shell.value(0), 5u);
}

TEST(Keeping, ACutThatDoesNotFitIsPutOffAndTriedAgainWhenThereIsRoom) {
  ModelShell shell;
  shell.put(9, one, 1);
  chain_of(shell, {4 * one, 2 * one});
  shell.drop(1);
  shell.set_budget(6 * one);
  shell.del(0);  // 4 held for 2: to be cut, but 1 + 4 + 2 do not fit
  EXPECT_EQ(shell.machine.counters().cuts, 0u);
  EXPECT_FALSE(shell.refused) << "a delete never fails";
  EXPECT_EQ(shell.live(), 5 * one);
  shell.machine.check();
  shell.put(8, one, 2);
  EXPECT_EQ(shell.machine.counters().cuts, 0u);
  shell.del(8);
  EXPECT_EQ(shell.machine.counters().cuts, 0u) << "still not enough";
  shell.del(9);
  EXPECT_EQ(shell.machine.counters().cuts, 1u);
  EXPECT_EQ(shell.live(), 2 * one);
  EXPECT_EQ(shell.machine.residency(1), Residency::resident);
  EXPECT_EQ(shell.value(1), chain_value(1));
  shell.machine.check();
}

TEST(Keeping, WithoutABudgetACutWaitsForMemoryOfTheSystem) {
  ModelShell shell({.memory_bytes = 6 * one});
  shell.put(9, one, 1);
  chain_of(shell, {3 * one, 2 * one});
  shell.drop(1);
  shell.put(8, one, 1);
  shell.del(0);  // 1 + 3 + 1 stand there, 2 must come back
  EXPECT_EQ(shell.machine.counters().cuts, 0u);
  EXPECT_EQ(shell.live(), 5 * one);
  shell.machine.check();
  shell.del(8);
  for (int i = 0; i < 4; ++i) shell.put(7, 64, 1), shell.del(7);
  EXPECT_EQ(shell.machine.counters().cuts, 1u) << "tried again, less and less often";
  EXPECT_EQ(shell.value(1), chain_value(1));
  EXPECT_EQ(shell.live(), 3 * one);
}

TEST(Keeping, ARefusalCountsCutsThatALargerBudgetWouldLetHappen) {
  ModelShell shell;
  shell.put(9, one, 1);
  chain_of(shell, {4 * one, 2 * one});
  shell.drop(1);
  shell.set_budget(6 * one);
  shell.del(0);
  shell.put(2, 2 * one, 3);
  ASSERT_TRUE(shell.refused);
  EXPECT_EQ(shell.smallest, (1 + 4 + 2 + 2) * one);
  shell.del(2);
  shell.set_budget(shell.smallest);
  shell.put(2, 2 * one, 3);
  EXPECT_FALSE(shell.refused);
}

TEST(Keeping, GhostsAreBoundedByCuttingTheOldestFrontier) {
  ModelShell shell({.least_ghosts = 10});
  shell.put(0, one, 5);  // stays alive: nothing else would ever cut
  Value value = 5;
  for (Slot step = 1; step <= 100; ++step) {
    const Slot before = step == 1 ? 0 : 1 + step % 2, after = 1 + (step + 1) % 2;
    Call call = {.payload = step, .inputs = {before}, .outputs = {{.slot = after, .bytes = one}}};
    if (before != 0) call.deletes = {before};
    shell.apply(call);
    value = kernel(step, 0, {&value, 1});
    EXPECT_LE(shell.machine.counters().ghosts, 10u);
    shell.machine.check();
  }
  EXPECT_EQ(shell.machine.counters().cuts, 1u) << "what was at the end of the chain is a source: when it dies, nothing needs to be cut";
  EXPECT_EQ(shell.value(1 + 101 % 2), value);
}

TEST(Keeping, ManyLiveTensorsMayHaveFourTimesAsManyGhosts) {
  ModelShell shell({.least_ghosts = 0});
  shell.put(0, one, 5);
  for (Slot slot = 1; slot <= 8; ++slot) {  // 0 -> ghost -> slot
    shell.apply({.payload = 2 * slot, .inputs = {0}, .outputs = {{.slot = 100, .bytes = 64}}});
    shell.apply({.payload = 2 * slot + 1, .inputs = {100}, .outputs = {{.slot = slot, .bytes = 64}}, .deletes = {100}});
  }
  EXPECT_EQ(shell.machine.counters().ghosts, 8u);
  EXPECT_EQ(shell.machine.counters().cuts, 0u);
}

}  // namespace
}  // namespace regrow::machine
