// SPDX-License-Identifier: Apache-2.0
// What the surroundings may refuse: pages, and the bytes of what was swapped out. The command at hand fails, or finds another way;
// nothing is counted that is not there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/machine/model_shell.h"

namespace regrow::machine {
namespace {

using Kind = Action::Kind;
using Why = Action::Why;
constexpr std::size_t one = 40 * granule;  // no part of it is committed beforehand, as the rest of a huge page

// slot 1 = f(slot 0), slot 2 = g(slot 1).
void chain_of_two(ModelShell& shell) {
  shell.put(0, one, 5);
  shell.apply({.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = one}}});
  shell.apply({.payload = 2, .inputs = {1}, .outputs = {{.slot = 2, .bytes = one}}});
}

Value value_of(Payload payload, Value input) { return kernel(payload, 0, {&input, 1}); }

void refuse_pages(ModelShell& shell, bool refuse = true) {
  shell.refuse_pages = refuse ? std::function<bool()>([] { return true; }) : nullptr;
}

TEST(PagesRefused, APutFailsAndCountsNothing) {
  ModelShell shell;
  shell.put(0, one, 5);
  const std::size_t committed = shell.machine.usage(0).committed_bytes;
  refuse_pages(shell);
  shell.put(1, 4 * one, 6);
  EXPECT_TRUE(shell.refused && shell.no_pages);
  EXPECT_EQ(shell.machine.error_of(1), shell.refusal_error);
  EXPECT_EQ(shell.live(), one);
  EXPECT_EQ(shell.machine.usage(0).committed_bytes, committed);
  EXPECT_EQ(shell.committed(), committed);
  shell.machine.check();
  refuse_pages(shell, false);
  shell.put(2, 4 * one, 7);
  EXPECT_EQ(shell.value(2), 7u);
  EXPECT_EQ(shell.value(0), 5u);
}

TEST(PagesRefused, AnOperationFailsAloneAndItsInputsStay) {
  ModelShell shell;
  shell.put(0, one, 5);
  refuse_pages(shell);
  shell.apply({.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = 4 * one}}, .workspace = one});
  EXPECT_TRUE(shell.refused && shell.no_pages);
  EXPECT_EQ(shell.runs(false), 0u);
  EXPECT_EQ(shell.machine.error_of(1), shell.refusal_error);
  EXPECT_EQ(shell.machine.error_of(0), 0u);
  EXPECT_EQ(shell.live(), one);
  EXPECT_TRUE(shell.retired(1));
  shell.machine.check();
  refuse_pages(shell, false);
  shell.apply({.payload = 2, .inputs = {0}, .outputs = {{.slot = 2, .bytes = 4 * one}}, .workspace = one});
  EXPECT_EQ(shell.value(2), value_of(2, 5));
}

TEST(PagesRefused, AnInputThatHasLentItsPlaceGetsItBackAndDies) {
  ModelShell shell;
  shell.put(0, one, 5);
  refuse_pages(shell);
  shell.apply({.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = one, .reuse = 1}, {.slot = 2, .bytes = 4 * one}},
               .deletes = {0}});
  EXPECT_TRUE(shell.refused && shell.no_pages);
  EXPECT_EQ(shell.count(Kind::released, Why::deleted), 1u);
  EXPECT_EQ(shell.count(Kind::erased), 1u);
  EXPECT_EQ(shell.live(), 0u);
  shell.machine.check();
}

TEST(PagesRefused, ARecomputationIsRefusedAndNothingIsLost) {
  ModelShell shell;
  chain_of_two(shell);
  shell.drop(1);
  shell.drop(2);
  shell.set_budget(one);  // gives the free pages back
  shell.set_budget(0);
  refuse_pages(shell);
  EXPECT_FALSE(shell.fetch(2, 0));
  EXPECT_TRUE(shell.no_pages);
  EXPECT_EQ(shell.runs(true), 0u);
  EXPECT_EQ(shell.machine.error_of(2), 0u);
  EXPECT_EQ(shell.machine.residency(2), Residency::dropped);
  EXPECT_EQ(shell.live(), one);
  shell.machine.check();
  refuse_pages(shell, false);
  EXPECT_EQ(shell.value(2), value_of(2, value_of(1, 5)));
}

TEST(PagesRefused, WhatIsSwappedOutStaysSwappedOut) {
  ModelShell shell;
  shell.put(0, one, 5);
  shell.swap_out(0);
  shell.set_budget(granule);
  shell.set_budget(0);
  refuse_pages(shell);
  EXPECT_FALSE(shell.fetch(0, 5));
  EXPECT_EQ(shell.machine.residency(0), Residency::swapped);
  EXPECT_EQ(shell.live(), 0u);
  shell.machine.check();
  refuse_pages(shell, false);
  EXPECT_EQ(shell.value(0), 5u);
}

TEST(PagesRefused, AfterSomeWereGivenTheseAreFreeForOthers) {
  ModelShell shell;
  int asked = 0;
  shell.refuse_pages = [&] { return ++asked == 2; };
  shell.apply({.payload = 1, .outputs = {{.slot = 0, .bytes = one}, {.slot = 1, .bytes = one}, {.slot = 2, .bytes = one}}});
  EXPECT_TRUE(shell.no_pages);
  EXPECT_EQ(shell.live(), 0u);
  EXPECT_EQ(shell.machine.usage(0).committed_bytes, shell.committed());
  EXPECT_GE(shell.committed(), one);
  EXPECT_EQ(asked, 2) << "the rest need not be asked for";
  shell.put(3, one, 8);
  EXPECT_EQ(asked, 2) << "its pages are there";
  EXPECT_EQ(shell.value(3), 8u);
}

// A cut that must regrow something, and cannot for want of pages, is put off like any other that does not fit.
TEST(PagesRefused, ACutIsPutOff) {
  ModelShell shell;
  chain_of_two(shell);
  shell.set_budget(64 * one);
  shell.drop(1);
  shell.set_budget(2 * one);  // 0 and 2
  shell.set_budget(64 * one);
  refuse_pages(shell);
  shell.del(0);  // a source as large as its frontier is not held
  EXPECT_FALSE(shell.refused);
  EXPECT_EQ(shell.machine.counters().cuts, 0u);
  shell.machine.check();
  refuse_pages(shell, false);
  EXPECT_EQ(shell.value(1), value_of(1, 5));
  shell.machine.check();
}

ErrorId lost = 77;

TEST(CopyLost, IsRecomputedWhereARecipeSaysHow) {
  ModelShell shell;
  chain_of_two(shell);
  shell.swap_out(1);
  shell.swap_out(2);
  shell.drop(2);
  shell.read_error = [] { return lost; };
  EXPECT_EQ(shell.value(2), value_of(2, value_of(1, 5)));
  EXPECT_EQ(shell.machine.counters().recomputed, 2u);
  EXPECT_EQ(shell.swapped(), 0u);
  EXPECT_EQ(shell.machine.usage(0).swapped_bytes, 0u);
  shell.machine.check();
}

TEST(CopyLost, OfASourcePoisonsItAndWhatNeedsItAndNothingElse) {
  ModelShell shell;
  chain_of_two(shell);
  shell.put(8, one, 9);
  shell.drop(1);
  shell.swap_out(0);
  shell.read_error = [] { return lost; };
  shell.apply({.payload = 3, .inputs = {8, 1}, .outputs = {{.slot = 3, .bytes = one}}});
  EXPECT_EQ(shell.runs(false), 0u);
  for (Slot slot : {0u, 1u, 3u}) EXPECT_EQ(shell.machine.error_of(slot), lost) << slot;
  EXPECT_EQ(shell.value(2), value_of(2, value_of(1, 5))) << "it was resident: a source from now on";
  EXPECT_EQ(shell.value(8), 9u);
  EXPECT_FALSE(shell.machine.droppable(2));
  EXPECT_EQ(shell.machine.usage(0).swapped_bytes, 0u);
  shell.machine.check();
}

TEST(CopyLost, OfAHeldSourceThatNobodyCanNamePoisonsWhatIsMadeOfIt) {
  ModelShell shell;
  shell.set_budget(64 * one);
  shell.put(0, granule, 5);
  shell.apply({.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = one}}});
  shell.swap_out(0);
  shell.del(0);  // smaller than its frontier: held
  shell.drop(1);
  shell.read_error = [] { return lost; };
  EXPECT_TRUE(shell.fetch(1, 0));
  EXPECT_EQ(shell.machine.error_of(1), lost);
  EXPECT_EQ(shell.machine.counters().ghosts, 0u);
  EXPECT_EQ(shell.live(), 0u);
  shell.machine.check();
}

}  // namespace
}  // namespace regrow::machine
