// SPDX-License-Identifier: Apache-2.0
// Automatic eviction: what may go, what a plan keeps, and what is done when a plan does not fit.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "regrow/machine/policy.h"
#include "tests/machine/model_shell.h"
#include "tests/machine/oldest_first.h"

namespace regrow::machine {
namespace {

using Kind = Action::Kind;
using Why = Action::Why;
constexpr std::size_t one = granule;

struct Evicting {
  OldestFirst policy;
  ModelShell shell{Config{.policy = &policy}};

  // slot 0 -> 1 -> ... -> length, one granule each.
  void chain(Slot length) {
    shell.put(0, one, 5);
    for (Slot slot = 1; slot <= length; ++slot) apply(slot, {slot - 1});
  }
  void apply(Slot slot, std::vector<Slot> inputs, std::size_t bytes = one) {
    shell.apply({.payload = slot, .inputs = std::move(inputs), .outputs = {{.slot = slot, .bytes = bytes}}});
  }
  static Value chain_value(Slot length) {
    Value value = 5;
    for (Slot slot = 1; slot <= length; ++slot) value = kernel(slot, 0, {&value, 1});
    return value;
  }
};

TEST(Evict, WhereThereIsNoRoomTheNamedVictimGoesAndNothingElse) {
  Evicting it;
  it.shell.set_budget(3 * one);
  it.chain(2);
  EXPECT_EQ(it.shell.machine.counters().evicted, 0u);
  it.apply(3, {2});
  EXPECT_EQ(it.shell.count(Kind::released, Why::evicted), 1u);
  EXPECT_EQ(it.shell.machine.residency(1), Residency::dropped);
  EXPECT_EQ(it.shell.machine.residency(0), Residency::resident) << "a source has no recipe";
  EXPECT_EQ(it.shell.value(1), Evicting::chain_value(1));
  EXPECT_EQ(it.shell.value(3), Evicting::chain_value(3));
}

TEST(Evict, WithoutAPolicyNothingIsEvictedUnasked) {
  ModelShell shell;
  shell.set_budget(2 * one);
  shell.put(0, one, 5);
  shell.apply({.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = one}}});
  shell.apply({.payload = 2, .inputs = {0}, .outputs = {{.slot = 2, .bytes = one}}});
  EXPECT_TRUE(shell.refused);
}

TEST(Evict, WhatIsExportedOrForeignStays) {
  Evicting it;
  it.shell.set_budget(3 * one);
  it.chain(2);
  it.shell.machine.export_storage(1);
  it.shell.carry_out();
  it.apply(3, {0});
  EXPECT_EQ(it.shell.machine.residency(1), Residency::resident);
  EXPECT_EQ(it.shell.machine.residency(2), Residency::dropped);
  it.shell.unexport(it.shell.machine.operand(1).storage);
  it.apply(4, {3});
  EXPECT_EQ(it.shell.machine.residency(1), Residency::dropped) << "and may go afterwards";
}

TEST(Evict, AnOperationsOwnInputsStayAndWhatCannotFitIsRefused) {
  Evicting it;
  it.shell.set_budget(3 * one);
  it.chain(2);
  it.apply(3, {1, 2});
  EXPECT_TRUE(it.shell.refused);
  EXPECT_EQ(it.shell.machine.residency(1), Residency::resident);
  EXPECT_EQ(it.shell.machine.residency(2), Residency::resident);
  EXPECT_EQ(it.shell.required, 4 * one);
  it.shell.set_budget(it.shell.smallest);
  it.apply(4, {1, 2});
  EXPECT_FALSE(it.shell.refused);
}

TEST(Evict, ASmallerBudgetTakesEffectByEvictions) {
  Evicting it;
  it.shell.set_budget(8 * one);
  it.chain(6);
  it.shell.set_budget(2 * one);
  EXPECT_EQ(it.shell.machine.refused(), 0u);
  EXPECT_LE(it.shell.committed(), 2 * one);
  it.shell.set_budget(one / 2);
  EXPECT_NE(it.shell.machine.refused(), 0u) << "the source cannot go";
  EXPECT_EQ(it.shell.machine.usage(0).budget_bytes, 2 * one) << "the old budget stays";
}

TEST(Evict, ABudgetThatComesLateKnowsWhatThereIs) {
  Evicting it;
  it.chain(6);
  it.shell.machine.drop(3);
  it.shell.carry_out();
  it.shell.set_budget(3 * one);
  EXPECT_EQ(it.shell.machine.counters().evicted, 3u) << "of six, one had gone and two fit beside the source";
  EXPECT_EQ(it.shell.value(6), Evicting::chain_value(6));
}

TEST(Evict, TenThousandOperationsDroppedWholeComeBackInThreeBlocks) {
  Evicting it;
  it.chain(10'000);
  for (Slot slot = 1; slot <= 10'000; ++slot) it.shell.drop(slot);
  it.shell.set_budget(3 * one);
  EXPECT_EQ(it.shell.value(10'000), Evicting::chain_value(10'000));
  EXPECT_EQ(it.shell.runs(true), 10'000u) << "each once";
  EXPECT_EQ(it.shell.machine.counters().bounded_plans, 0u);
}

TEST(Evict, GhostsThatAPlanBroughtBackStayWhileAUseIsExpected) {
  for (const bool expected : {false, true}) {
    Evicting it;
    it.policy.expects = expected;
    it.shell.set_budget(16 * one);
    it.chain(3);
    it.shell.del(1);
    it.shell.drop(2);
    it.shell.drop(3);
    EXPECT_EQ(it.shell.value(2), Evicting::chain_value(2));
    EXPECT_EQ(it.shell.live(), (expected ? 3 : 2) * one);
    it.shell.drop(2);
    EXPECT_EQ(it.shell.value(3), Evicting::chain_value(3));
    EXPECT_EQ(it.shell.runs(true), expected ? 2u : 3u);
    it.shell.machine.check();
    it.shell.set_budget(0);
    it.shell.machine.check();
  }
}

// wide = f(a, b), where a and b are each made from a resident leaf by way of a large intermediate. In topological order a waits while b's
// intermediate is there. The leaf of b is as large as that: it has to give way, too, and come back.
TEST(Evict, APlanThatDoesNotFitIsRunAgainWithEvictionsAmongItsOwn) {
  Evicting it;
  it.shell.put(0, one, 5);
  it.apply(1, {0}, 3 * one);  // a leaf that may go
  it.apply(2, {1}, one);
  it.apply(3, {0}, 3 * one);  // another
  it.apply(4, {3}, one);
  it.apply(5, {2, 4}, one);
  const Value zero = 5;
  const auto of = [](Payload payload, std::vector<Value> inputs) { return kernel(payload, 0, inputs); };
  const Value expected = of(5, {of(2, {of(1, {zero})}), of(4, {of(3, {zero})})});
  for (Slot slot : {2, 4, 5}) it.shell.drop(slot);
  it.shell.set_budget(7 * one);  // the source and both leaves: no room for 2 while all inputs of the plan are pinned
  EXPECT_EQ(it.shell.value(5), expected);
  EXPECT_EQ(it.shell.machine.counters().bounded_plans, 1u);
  it.shell.machine.check();
}

TEST(Evict, AfterARefusalTheEngineGoesOn) {
  Evicting it;
  it.shell.set_budget(4 * one);
  it.chain(3);
  it.apply(10, {3}, 64 * one);
  EXPECT_TRUE(it.shell.refused);
  EXPECT_NE(it.shell.machine.error_of(10), 0u);
  for (Slot slot = 1; slot <= 3; ++slot) EXPECT_EQ(it.shell.value(slot), Evicting::chain_value(slot));
  it.shell.machine.check();
}

}  // namespace
}  // namespace regrow::machine
