// SPDX-License-Identifier: Apache-2.0
// Memory by hand, plans and budgets: whatever is done to a tensor, its value comes back, within the budget or not at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/machine/model_shell.h"

namespace regrow::machine {
namespace {

using Kind = Action::Kind;
using Why = Action::Why;
constexpr std::size_t one = granule;

// slot k = f(slot k - 1), k = 1 … length, from a host value in slot 0.
void chain(ModelShell& shell, Slot length, std::size_t bytes = one) {
  shell.put(0, bytes, 5);
  for (Slot slot = 1; slot <= length; ++slot) {
    shell.apply({.payload = slot, .inputs = {slot - 1}, .outputs = {{.slot = slot, .bytes = bytes}}});
  }
}

Value chain_value(Slot length) {
  Value value = 5;
  for (Slot slot = 1; slot <= length; ++slot) value = kernel(slot, 0, {&value, 1});
  return value;
}

std::vector<Payload> regrown(const ModelShell& shell) {
  std::vector<Payload> payloads;
  for (const auto& each : shell.ran) {
    if (each.regrow) payloads.push_back(each.payload);
  }
  return payloads;
}

TEST(Memory, ADroppedTensorIsRecomputedWhenItIsUsed) {
  ModelShell shell;
  chain(shell, 2);
  shell.drop(1);
  EXPECT_EQ(shell.count(Kind::released, Why::dropped), 1u);
  EXPECT_EQ(shell.live(), 2 * one);
  EXPECT_EQ(shell.machine.residency(1), Residency::dropped);
  shell.apply({.payload = 10, .inputs = {1}, .outputs = {{.slot = 10, .bytes = one}}});
  EXPECT_THAT(regrown(shell), testing::ElementsAre(1u));
  EXPECT_EQ(shell.machine.residency(1), Residency::resident);
  EXPECT_EQ(shell.value(1), chain_value(1));
  EXPECT_EQ(shell.machine.counters().recomputed, 1u);
  EXPECT_DOUBLE_EQ(shell.machine.counters().recompute_seconds, 1e-6);
}

TEST(Memory, WhatNothingCanComputeAgainStays) {
  ModelShell shell;
  shell.put(0, one, 5);
  shell.drop(0);
  EXPECT_EQ(shell.machine.residency(0), Residency::resident);
  EXPECT_FALSE(shell.machine.droppable(0));
  shell.apply({.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = one}}, .replayable = false});
  EXPECT_TRUE(shell.retired(1));
  shell.drop(1);
  EXPECT_EQ(shell.machine.residency(1), Residency::resident);
  shell.machine.set_recording(false);
  shell.apply({.payload = 2, .inputs = {0}, .outputs = {{.slot = 2, .bytes = one}}});
  EXPECT_FALSE(shell.machine.droppable(2));
  shell.machine.set_recording(true);
  shell.apply({.payload = 3, .inputs = {0}, .outputs = {{.slot = 3, .bytes = one}}});
  EXPECT_TRUE(shell.machine.droppable(3));
  shell.machine.export_storage(3), shell.carry_out();
  EXPECT_FALSE(shell.machine.droppable(3));
  shell.drop(3);
  shell.swap_out(3);
  EXPECT_EQ(shell.machine.residency(3), Residency::resident) << "exported";
}

TEST(Memory, APlanRunsEachOperationOnceInTopologicalOrder) {
  ModelShell shell;
  shell.put(0, one, 5);  // a diamond on a diamond: 2 and 3 read 1, 4 reads 2 and 3 and 1
  shell.apply({.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = one}}});
  shell.apply({.payload = 2, .inputs = {1}, .outputs = {{.slot = 2, .bytes = one}}});
  shell.apply({.payload = 3, .inputs = {1}, .outputs = {{.slot = 3, .bytes = one}}});
  shell.apply({.payload = 4, .inputs = {2, 3, 1}, .outputs = {{.slot = 4, .bytes = one}}});
  const Value value = shell.value(4);
  for (Slot slot : {1, 2, 3, 4}) shell.drop(slot);
  EXPECT_EQ(shell.value(4), value);
  EXPECT_THAT(regrown(shell), testing::ElementsAre(1u, 2u, 3u, 4u));
}

TEST(Memory, AnOperationOfSeveralOutputsIsRecomputedOnceForAllOfThem) {
  ModelShell shell;
  shell.put(0, one, 5);
  shell.apply({.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = one}, {.slot = 2, .bytes = one}}});
  shell.apply({.payload = 2, .inputs = {1, 2}, .outputs = {{.slot = 3, .bytes = one}}});
  const Value value = shell.value(3);
  for (Slot slot : {1, 2, 3}) shell.drop(slot);
  EXPECT_EQ(shell.value(3), value);
  EXPECT_THAT(regrown(shell), testing::ElementsAre(1u, 2u));
}

TEST(Memory, GhostsThatAPlanBringsBackGoAfterTheirLastUse) {
  ModelShell shell;
  chain(shell, 4);
  for (Slot slot : {1, 2, 3}) shell.del(slot);
  shell.drop(4);
  EXPECT_EQ(shell.live(), one);
  shell.machine.reset_peak(0);
  EXPECT_EQ(shell.value(4), chain_value(4));
  EXPECT_THAT(regrown(shell), testing::ElementsAre(1u, 2u, 3u, 4u));
  EXPECT_EQ(shell.count(Kind::released, Why::temporary), 3u);
  EXPECT_EQ(shell.live(), 2 * one);
  EXPECT_EQ(shell.machine.usage(0).peak_bytes, 3 * one) << "the source and two of the chain";
  EXPECT_EQ(shell.machine.last_plan(0).peak_bytes, 3 * one);
  EXPECT_EQ(shell.machine.last_plan(0).operations, 4u);
}

TEST(Memory, LiveTensorsThatAPlanPassesThroughStayWhereThereIsRoom) {
  ModelShell shell;
  chain(shell, 3);
  for (Slot slot : {1, 2, 3}) shell.drop(slot);
  EXPECT_EQ(shell.value(3), chain_value(3));
  EXPECT_EQ(shell.machine.residency(1), Residency::resident);
  EXPECT_EQ(shell.live(), 4 * one);
  for (Slot slot : {1, 2, 3}) shell.drop(slot);
  shell.set_budget(3 * one);
  EXPECT_EQ(shell.value(3), chain_value(3));
  EXPECT_EQ(shell.machine.residency(1), Residency::dropped) << "there is no room for more than two of the chain at once";
  EXPECT_EQ(shell.live(), 2 * one);
}

TEST(Memory, ALongChainDroppedWholeComesBackWithoutRecursion) {
  ModelShell shell;
  constexpr Slot length = 10'000;
  chain(shell, length, 64);
  for (Slot slot = 1; slot <= length; ++slot) shell.drop(slot);
  EXPECT_EQ(shell.live(), 64u);
  EXPECT_EQ(shell.value(length), chain_value(length));
  EXPECT_EQ(shell.machine.counters().recomputed, length);
  for (Slot slot = 1; slot <= length; ++slot) shell.drop(slot);
  for (Slot slot = 1; slot < length; ++slot) shell.del(slot);
  EXPECT_EQ(shell.machine.counters().ghosts, length - 1);
  EXPECT_EQ(shell.value(length), chain_value(length));
  shell.machine.check();
  shell.del(length);
  EXPECT_EQ(shell.machine.counters().ghosts, 0u);
}

TEST(Memory, ALongChainIsRecomputedInABudgetOfAFewTensors) {
  ModelShell shell;
  constexpr Slot length = 10'000;
  shell.put(0, one, 5);
  shell.set_budget(4 * one);
  shell.machine.reset_peak(0);
  for (Slot slot = 1; slot <= length; ++slot) {
    shell.apply({.payload = slot, .inputs = {slot - 1}, .outputs = {{.slot = slot, .bytes = one}}});
    if (slot > 1) shell.drop(slot - 1);
  }
  shell.drop(length);
  EXPECT_EQ(shell.value(length), chain_value(length));
  EXPECT_LE(shell.machine.usage(0).peak_committed_bytes, 4 * one);
  EXPECT_EQ(shell.machine.residency(length - 1), Residency::dropped) << "where room is short, a plan keeps only what was asked for";
}

TEST(Memory, OutputsThatNobodyAskedForGetPlacesThatAreGivenBack) {
  ModelShell shell;
  shell.put(0, one, 5);
  shell.apply({.payload = 1, .inputs = {0},
               .outputs = {{.slot = 1, .bytes = one}, {.slot = 2, .bytes = 2 * one}, {.slot = 3, .bytes = 4 * one}}});
  const Value value = shell.value(1), other = shell.value(2);
  shell.drop(1);
  shell.del(3);
  EXPECT_EQ(shell.live(), 3 * one);
  shell.machine.reset_peak(0);
  EXPECT_EQ(shell.value(1), value);
  EXPECT_EQ(shell.live(), 4 * one);
  EXPECT_EQ(shell.machine.usage(0).peak_bytes, (3 + 1 + 2 + 4) * one);
  EXPECT_EQ(shell.machine.last_plan(0).peak_bytes, (3 + 1 + 2 + 4) * one);
  EXPECT_EQ(shell.value(2), other) << "the resident output has not been touched";
  shell.machine.check();
}

TEST(Memory, SwappedOutTwiceIsOnceAndAnyUseBringsItBack) {
  ModelShell shell;
  shell.put(0, one, 5);
  shell.swap_out(0);
  EXPECT_EQ(shell.count(Kind::released, Why::swapped), 1u);
  EXPECT_EQ(shell.machine.residency(0), Residency::swapped);
  EXPECT_EQ(shell.machine.usage(0).swapped_bytes, one);
  EXPECT_EQ(shell.live(), 0u);
  shell.swap_out(0);
  EXPECT_EQ(shell.count(Kind::swap_out), 0u);
  EXPECT_EQ(shell.value(0), 5u);
  EXPECT_EQ(shell.machine.usage(0).swapped_bytes, 0u);
  shell.swap_out(0);
  shell.apply({.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = one}}, .deletes = {0}});
  EXPECT_EQ(shell.count(Kind::swap_in), 1u);
  EXPECT_EQ(shell.machine.counters().swapped_out, 2u);
  EXPECT_EQ(shell.machine.counters().swapped_in, 2u);
  EXPECT_EQ(shell.swapped(), 0u);
}

TEST(Memory, SwapAndDropMixInAnyOrder) {
  ModelShell shell;
  chain(shell, 1);
  shell.swap_out(1);
  shell.drop(1);
  EXPECT_EQ(shell.count(Kind::forget_swap), 1u) << "it can be recomputed: the host copy is not needed";
  EXPECT_EQ(shell.machine.residency(1), Residency::dropped);
  shell.swap_out(1);
  EXPECT_EQ(shell.machine.residency(1), Residency::dropped) << "there is nothing to swap";
  EXPECT_EQ(shell.value(1), chain_value(1));
  shell.swap_out(0);
  shell.drop(0);
  EXPECT_EQ(shell.machine.residency(0), Residency::swapped) << "nothing can recompute it: the host copy stays";
  shell.drop(1);
  shell.swap_in(1);
  EXPECT_EQ(shell.machine.residency(1), Residency::resident);
  EXPECT_EQ(shell.value(0), 5u);
  shell.swap_out(0);
  shell.del(0);
  EXPECT_EQ(shell.swapped(), 0u);
}

TEST(Memory, ATensorDeletedWhileSwappedOutLeavesNothingOnTheHost) {
  ModelShell shell;
  chain(shell, 2);
  shell.swap_out(1);
  shell.del(1);
  EXPECT_EQ(shell.count(Kind::forget_swap), 1u) << "a ghost has no bytes anywhere";
  EXPECT_EQ(shell.machine.usage(0).swapped_bytes, 0u);
  shell.drop(2);
  EXPECT_EQ(shell.value(2), chain_value(2));
}

TEST(Memory, AFailedRecomputationPoisonsWhatIsLostAndNothingElse) {
  ModelShell shell;
  chain(shell, 3);
  shell.apply({.payload = 9, .inputs = {1}, .outputs = {{.slot = 9, .bytes = one}}});
  const Value nine = shell.value(9);
  shell.del(1);
  shell.drop(2);
  shell.drop(3);
  shell.run_errors[1] = 77;
  shell.machine.fetch(3), shell.carry_out();
  EXPECT_EQ(shell.machine.error_of(3), 77u);
  EXPECT_EQ(shell.machine.error_of(2), 77u) << "it could only come from the same ghost";
  EXPECT_EQ(shell.value(9), nine);
  EXPECT_FALSE(shell.machine.droppable(9)) << "it stays, as nothing can make it again";
  EXPECT_EQ(shell.value(0), 5u);
  shell.machine.check();
}

TEST(Memory, ABudgetRefusesWhatDoesNotFitAndSaysWhatWould) {
  ModelShell shell;
  shell.put(0, 2 * one, 5);
  shell.set_budget(8 * one);
  shell.apply({.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = 6 * one}}, .workspace = one});
  EXPECT_TRUE(shell.refused);
  EXPECT_EQ(shell.required, 9 * one) << "input, output and workspace";
  EXPECT_EQ(shell.smallest, 9 * one);
  EXPECT_EQ(shell.machine.error_of(1), shell.refusal_error);
  EXPECT_TRUE(shell.retired(1));
  EXPECT_EQ(shell.live(), 2 * one);
  shell.del(1);
  shell.set_budget(shell.smallest);
  shell.machine.reset_peak(0);
  shell.apply({.payload = 2, .inputs = {0}, .outputs = {{.slot = 1, .bytes = 6 * one}}, .workspace = one});
  EXPECT_FALSE(shell.refused);
  EXPECT_EQ(shell.machine.usage(0).peak_committed_bytes, 9 * one);
  shell.machine.check();
}

TEST(Memory, WithoutABudgetTheSystemsMemoryIsTheLimit) {
  ModelShell shell({.memory_bytes = 4 * one});
  shell.put(0, 3 * one, 5);
  shell.put(1, 2 * one, 6);
  EXPECT_TRUE(shell.refused);
  EXPECT_EQ(shell.required, 5 * one);
  EXPECT_EQ(shell.machine.usage(0).budget_bytes, 0u);
  shell.set_budget(3 * one);
  shell.put(2, one, 7);
  EXPECT_TRUE(shell.refused);
  shell.set_budget(0);
  shell.put(3, one, 8);
  EXPECT_FALSE(shell.refused);
  EXPECT_EQ(shell.value(3), 8u);
  shell.machine.check();
}

TEST(Memory, ABudgetBeyondTheSystemsMemoryIsNoMoreThanThat) {
  ModelShell shell({.memory_bytes = 4 * one});
  shell.set_budget(10 * one);
  EXPECT_EQ(shell.machine.refused(), 0u);
  EXPECT_EQ(shell.machine.usage(0).budget_bytes, 10 * one) << "as it was given";
  shell.put(0, 3 * one, 5);
  shell.put(1, 2 * one, 6);
  EXPECT_TRUE(shell.refused);
  EXPECT_EQ(shell.required, 5 * one);
  shell.put(2, one, 7);
  EXPECT_FALSE(shell.refused);
  EXPECT_EQ(shell.value(2), 7u);
  shell.machine.check();
}

TEST(Memory, WhatIsPinnedCountsInTheFloor) {
  ModelShell shell;
  shell.put(0, 2 * one, 5);  // a source: pinned, and not an operand
  shell.put(1, one, 6);
  shell.apply({.payload = 1, .inputs = {1}, .outputs = {{.slot = 2, .bytes = one}}});  // has a recipe: not pinned
  shell.set_budget(4 * one);
  shell.apply({.payload = 2, .inputs = {1, 1}, .outputs = {{.slot = 3, .bytes = 3 * one}}});
  EXPECT_TRUE(shell.refused);
  EXPECT_EQ(shell.required, (2 + 1 + 3) * one);
  EXPECT_EQ(shell.smallest, (2 + 1 + 1 + 3) * one) << "nothing is evicted for it";
}

TEST(Memory, ARefusedPutPoisonsItsSlot) {
  ModelShell shell;
  shell.set_budget(2 * one);
  shell.put(0, 3 * one, 5);
  EXPECT_TRUE(shell.refused);
  EXPECT_EQ(shell.required, 3 * one);
  EXPECT_EQ(shell.machine.error_of(0), shell.refusal_error);
  shell.put(1, 2 * one, 6);
  EXPECT_FALSE(shell.refused);
  EXPECT_EQ(shell.value(1), 6u);
}

TEST(Memory, ARefusedFetchLosesNothing) {
  ModelShell shell;
  chain(shell, 3, 2 * one);
  for (Slot slot : {1, 2, 3}) shell.drop(slot);
  shell.put(9, 2 * one, 1);
  shell.set_budget(6 * one);  // 4 stand there; the plan needs 4 at once
  EXPECT_FALSE(shell.fetch(3, chain_value(3)));
  EXPECT_NE(shell.machine.refused(), 0u);
  EXPECT_EQ(shell.smallest, 8 * one);
  EXPECT_EQ(shell.live(), 4 * one);
  EXPECT_EQ(shell.machine.residency(3), Residency::dropped);
  EXPECT_EQ(shell.machine.counters().recomputed, 0u) << "known before it began";
  shell.set_budget(shell.smallest);
  EXPECT_TRUE(shell.fetch(3, chain_value(3)));
  shell.machine.check();
}

TEST(Memory, ARefusedOperationPutsBackWhatItsPlanBrought) {
  ModelShell shell;
  chain(shell, 1);
  shell.put(2, one, 6);
  shell.drop(1);
  shell.swap_out(2);
  shell.set_budget(4 * one);
  shell.sizes = {4 * one};  // known only when both inputs are back
  shell.apply({.payload = 7, .inputs = {1, 2}, .outputs = {{.slot = 3}}, .measure = true});
  EXPECT_TRUE(shell.refused);
  EXPECT_EQ(shell.machine.residency(1), Residency::dropped);
  EXPECT_EQ(shell.machine.residency(2), Residency::swapped);
  EXPECT_EQ(shell.live(), one);
  EXPECT_EQ(shell.value(1), chain_value(1));
  EXPECT_EQ(shell.value(2), 6u);
  shell.machine.check();
}

TEST(Memory, ABudgetBelowWhatIsChargedIsRefusedAndTheOldOneStays) {
  ModelShell shell;
  shell.put(0, 4 * one, 5);
  shell.put(1, 4 * one, 6);
  shell.del(1);
  EXPECT_GE(shell.committed(), 8 * one) << "pages are recycled, not returned";
  shell.set_budget(16 * one);
  shell.set_budget(3 * one);
  EXPECT_NE(shell.machine.refused(), 0u);
  EXPECT_EQ(shell.required, 4 * one);
  EXPECT_EQ(shell.smallest, 4 * one);
  EXPECT_EQ(shell.machine.usage(0).budget_bytes, 16 * one);
  shell.set_budget(4 * one);
  EXPECT_EQ(shell.machine.refused(), 0u);
  EXPECT_EQ(shell.committed(), 4 * one) << "lowering a budget returns pages";
  EXPECT_EQ(shell.machine.usage(0).committed_bytes, 4 * one);
}

TEST(Memory, ManySmallTensorsChargeNoMoreThanASlabEach) {
  for (std::size_t bytes = 1; bytes <= 2 * granule; bytes += 61) {
    Placement placement(std::size_t{1} << 30);
    std::vector<PageAction> pages;
    placement.place(bytes, pages);
    EXPECT_LE(placement.charged(), bytes <= granule / 2 ? 2 * granule : Placement::rounded(bytes)) << bytes;
  }
}

}  // namespace
}  // namespace regrow::machine
