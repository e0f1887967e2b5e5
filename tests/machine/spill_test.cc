// SPDX-License-Identifier: Apache-2.0
// Evictions that may write out: what goes, how, what it costs the second time, and what the floor is.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "regrow/machine/policy.h"
#include "tests/machine/model_shell.h"
#include "tests/machine/oldest_first.h"

namespace regrow::machine {
namespace {

using Kind = Action::Kind;
using Why = Action::Why;
constexpr std::size_t one = granule;

class Spill : public testing::Test {
 protected:
  Spill() { shell.set_spill(true); }

  void apply(Slot slot, std::vector<Slot> inputs, std::size_t bytes = one, std::vector<Slot> deletes = {}) {
    shell.apply({.payload = slot, .inputs = std::move(inputs), .outputs = {{.slot = slot, .bytes = bytes}}, .deletes = std::move(deletes)});
  }
  static Value of(Payload payload, std::vector<Value> inputs) { return kernel(payload, 0, inputs); }

  OldestFirst policy;
  ModelShell shell{Config{.policy = &policy}};
};

TEST_F(Spill, ASourceGoesAndComesBackAndGoesForNothingTheSecondTime) {
  shell.set_budget(2 * one);
  for (Slot slot = 0; slot < 3; ++slot) shell.put(slot, one, 10 + slot);
  EXPECT_EQ(shell.count(Kind::swap_out), 1u);
  EXPECT_EQ(shell.machine.residency(0), Residency::swapped);
  EXPECT_EQ(shell.value(0), 10u);
  EXPECT_EQ(shell.count(Kind::swap_out), 1u) << "1 made room";
  EXPECT_EQ(shell.value(1), 11u);
  EXPECT_EQ(shell.count(Kind::swap_out), 1u) << "2 made room";
  const std::size_t written = policy.written_bytes;
  for (Slot slot : {2u, 0u, 1u, 2u, 0u, 1u}) EXPECT_EQ(shell.value(slot), 10 + slot);
  EXPECT_EQ(policy.written_bytes, written) << "all have copies";
  EXPECT_EQ(written, 3 * one);
  EXPECT_EQ(policy.read_bytes, 8 * one);
  for (Slot slot = 0; slot < 3; ++slot) shell.del(slot);
  EXPECT_EQ(shell.swapped(), 0u);
  shell.machine.check();
}

TEST_F(Spill, ThePolicySaysHowWhatCanBeMadeAgainGoes) {
  for (bool writes : {false, true}) {
    policy.writes = writes;
    const Slot x = writes ? 10 : 0, y = x + 1, z = x + 2;
    shell.set_budget(0);
    shell.put(x, one, 5);
    apply(y, {x});
    shell.value(x);
    shell.set_budget(2 * one);
    apply(z, {x});
    EXPECT_EQ(shell.machine.residency(y), writes ? Residency::swapped : Residency::dropped);
    EXPECT_EQ(shell.value(y), of(y, {5}));
    EXPECT_EQ(shell.runs(true), writes ? 0u : 1u);
    for (Slot slot : {x, y, z}) shell.del(slot);
  }
}

TEST_F(Spill, AHeldSourceGoesTooAndIsReadWhenItIsNeeded) {
  shell.set_budget(4 * one);
  shell.put(0, one, 5);
  apply(1, {0}, 2 * one, {0});  // smaller than what it makes: held
  EXPECT_EQ(shell.live(), 3 * one);
  shell.value(1);
  shell.put(2, 2 * one, 6);
  EXPECT_EQ(shell.live(), 4 * one) << "the dead source has gone";
  EXPECT_EQ(shell.count(Kind::swap_out), 1u);
  shell.drop(1);
  EXPECT_EQ(shell.value(1), of(1, {5}));
  EXPECT_EQ(shell.runs(true), 1u);
  shell.machine.check();
}

TEST_F(Spill, AFailedWriteLeavesTheValueAndAnotherGoes) {
  shell.set_budget(2 * one);
  shell.put(0, one, 10);
  shell.put(1, one, 11);
  std::size_t tries = 0;
  shell.write_error = [&]() -> ErrorId { return ++tries == 1 ? 7 : 0; };
  shell.put(2, one, 12);
  EXPECT_FALSE(shell.refused);
  EXPECT_EQ(shell.machine.residency(0), Residency::resident);
  EXPECT_EQ(shell.machine.residency(1), Residency::swapped);
  shell.write_error = [] { return 7u; };
  shell.put(3, one, 13);
  EXPECT_TRUE(shell.refused);
  EXPECT_EQ(shell.machine.residency(0), Residency::resident);
  EXPECT_EQ(shell.machine.residency(2), Residency::resident);
  shell.write_error = nullptr;
  shell.put(4, one, 14);
  EXPECT_FALSE(shell.refused) << "the next command tries again";
  EXPECT_EQ(shell.value(0), 10u);
  EXPECT_EQ(shell.value(2), 12u);
}

TEST_F(Spill, WhatCannotBeWrittenIsDroppedIfItCanBeMadeAgain) {
  policy.writes = true;
  shell.put(0, one, 5);
  apply(1, {0});
  shell.value(0);
  shell.set_budget(2 * one);
  shell.write_error = [] { return 7u; };
  apply(2, {0});
  EXPECT_FALSE(shell.refused);
  EXPECT_EQ(shell.machine.residency(1), Residency::dropped);
}

TEST_F(Spill, WhatIsExportedStays) {
  shell.set_budget(2 * one);
  shell.put(0, one, 10);
  shell.machine.export_storage(0);
  shell.carry_out();
  shell.put(1, one, 11);
  shell.put(2, one, 12);
  EXPECT_EQ(shell.machine.residency(0), Residency::resident);
  apply(3, {1, 2});
  EXPECT_TRUE(shell.refused);
  EXPECT_EQ(shell.required, 4 * one);
  EXPECT_EQ(shell.smallest, 4 * one);
}

TEST_F(Spill, StagingIsPartOfTheFloor) {
  shell.set_spill(true, one);
  shell.set_budget(3 * one);
  shell.put(0, one, 10);
  apply(1, {0});
  apply(2, {0, 1});
  EXPECT_TRUE(shell.refused);
  EXPECT_EQ(shell.smallest, 4 * one);
  shell.set_budget(4 * one);
  apply(3, {0, 1});
  EXPECT_FALSE(shell.refused);
  EXPECT_EQ(shell.machine.usage(0).committed_bytes, 4 * one);
  shell.set_spill(true, 3 * one);
  EXPECT_EQ(shell.machine.refused(), 0u);
  EXPECT_EQ(shell.live(), one);
  shell.set_spill(true, 4 * one);
  EXPECT_NE(shell.machine.refused(), 0u) << "no room for anything";
}

// A complete program: layers with two inputs each, all of which are wanted again in reverse. The largest operation takes three.
TEST_F(Spill, AProgramCompletesAtItsFloorHoweverItIsEvicted) {
  std::vector<Value> values = {1, 2};
  for (Slot slot = 2; slot < 40; ++slot) values.push_back(of(slot, {values[slot - 1], values[slot - 2]}));
  for (bool writes : {false, true}) {
    OldestFirst oldest;
    oldest.writes = writes;
    ModelShell it(Config{.policy = &oldest});
    it.set_spill(true, one);
    it.set_budget(4 * one);
    it.put(0, one, 1);
    it.put(1, one, 2);
    for (Slot slot = 2; slot < 40; ++slot) {
      it.apply({.payload = slot, .inputs = {slot - 1, slot - 2}, .outputs = {{.slot = slot, .bytes = one}}});
      ASSERT_FALSE(it.refused) << slot;
    }
    for (Slot slot = 40; slot-- > 0;) EXPECT_EQ(it.value(slot), values[slot]);
    it.machine.check();
  }
}

// Its two operands are made by chains whose operations need three granules each, and it needs four: none needs what another one does.
TEST_F(Spill, AWideValueIsMadeOneOperationAtATime) {
  shell.put(0, one, 5);
  std::vector<Value> values = {5};
  values.resize(30);
  for (Slot chain = 0; chain < 3; ++chain) {
    for (Slot k = 0; k < 5; ++k) {
      const Slot slot = 1 + chain * 5 + k, before = k == 0 ? 0 : slot - 1;
      apply(slot, {before, 0});
      values[slot] = of(slot, {values[before], 5});
    }
  }
  for (Slot slot = 1; slot <= 15; ++slot) shell.drop(slot);
  shell.set_budget(4 * one);
  apply(20, {5, 10, 15});
  EXPECT_FALSE(shell.refused);
  EXPECT_EQ(shell.value(20), of(20, {values[5], values[10], values[15]}));
  EXPECT_LE(shell.machine.counters().recomputed, 2 * 15u);
  shell.machine.check();
}

TEST_F(Spill, WhatWasWrittenAheadGoesForNothing) {
  shell.set_budget(3 * one);
  for (Slot slot = 0; slot < 3; ++slot) shell.put(slot, one, 10 + slot);
  shell.look_ahead({});
  EXPECT_EQ(shell.transfers(), 0u) << "nothing has been evicted so far";
  shell.put(3, one, 13);
  shell.look_ahead({});
  EXPECT_EQ(shell.transfers(), 1u);
  EXPECT_EQ(shell.value(1), 11u) << "it can be read meanwhile";
  shell.end_transfer(0);
  EXPECT_EQ(policy.written_bytes, 2 * one);
  shell.value(2), shell.value(3);
  shell.put(4, one, 14);
  EXPECT_EQ(shell.count(Kind::swap_out), 0u);
  EXPECT_EQ(shell.machine.residency(1), Residency::swapped);
  EXPECT_EQ(shell.value(1), 11u);
}

TEST_F(Spill, AVictimThatIsBeingWrittenIsWaitedForAndWhatDiesMeanwhileIsNot) {
  shell.set_budget(2 * one);
  for (Slot slot = 0; slot < 3; ++slot) shell.put(slot, one, 10 + slot);
  shell.look_ahead({});
  shell.put(3, one, 13);
  EXPECT_EQ(shell.count(Kind::await), 1u);
  EXPECT_EQ(shell.count(Kind::swap_out), 0u);
  EXPECT_EQ(shell.machine.residency(1), Residency::swapped);
  shell.look_ahead({});
  shell.del(2);
  EXPECT_EQ(shell.count(Kind::cancel), 1u);
  EXPECT_EQ(shell.transfers(), 0u);
  EXPECT_EQ(shell.value(3), 13u);
  shell.machine.check();
}

TEST_F(Spill, WhatWillBeReadComesBackWhileThereIsRoom) {
  shell.set_budget(2 * one);
  for (Slot slot = 0; slot < 3; ++slot) shell.put(slot, one, 10 + slot);
  shell.look_ahead({0});
  EXPECT_EQ(shell.count(Kind::read_ahead), 0u) << "there is no room";
  shell.del(1);
  shell.look_ahead({0});
  EXPECT_EQ(shell.count(Kind::read_ahead), 1u);
  EXPECT_EQ(shell.machine.residency(0), Residency::swapped);
  EXPECT_EQ(shell.value(0), 10u);
  EXPECT_EQ(shell.count(Kind::await), 1u);
  shell.put(3, one, 13);
  shell.del(2), shell.del(3);
  shell.put(4, one, 14);
  shell.swap_out(0);
  shell.look_ahead({0});
  EXPECT_EQ(shell.count(Kind::read_ahead), 1u);
  shell.put(5, 2 * one, 15);
  EXPECT_FALSE(shell.refused) << "it makes room again";
  EXPECT_EQ(shell.value(0), 10u);
  shell.machine.check();
}

TEST_F(Spill, WithoutItSourcesStayAndCopiesAreGivenUp) {
  shell.set_budget(2 * one);
  for (Slot slot = 0; slot < 3; ++slot) shell.put(slot, one, 10 + slot);
  shell.value(0);
  EXPECT_EQ(shell.swapped(), 2u);
  shell.set_spill(false);
  EXPECT_EQ(shell.count(Kind::forget_swap), 1u);
  EXPECT_EQ(shell.swapped(), 1u);
  shell.put(3, one, 13);
  EXPECT_TRUE(shell.refused);
  shell.set_budget(3 * one);
  for (Slot slot = 0; slot < 3; ++slot) EXPECT_EQ(shell.value(slot), 10 + slot);
  shell.machine.check();
}

TEST_F(Spill, AValueThatCouldNotBeMadeAgainInThisBudgetIsNotDropped) {
  shell.put(0, one, 5);
  shell.apply({.payload = 1, .inputs = {0}, .outputs = {{.slot = 1, .bytes = one}}, .workspace = 5 * one});
  shell.set_budget(2 * one);
  shell.value(0);
  shell.put(2, one, 6);
  EXPECT_EQ(shell.machine.residency(1), Residency::swapped) << "the policy would have dropped it";
  EXPECT_EQ(shell.value(1), of(1, {5}));
}

}  // namespace
}  // namespace regrow::machine
