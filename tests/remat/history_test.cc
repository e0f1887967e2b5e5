// SPDX-License-Identifier: Apache-2.0
// What the stream foretells: the next use, from the iteration before.
#include <gtest/gtest.h>

#include "regrow/remat/history.h"

namespace regrow::remat {
namespace {

using Ids = std::vector<machine::StorageId>;

// A step: 1 = a(0), 2 = b(1), 3 = c(1, 2); a takes 1 s, b 2 s, c 4 s.
struct Stream {
  History history;
  void op(std::uint64_t key, const Ids& inputs, const Ids& outputs, double seconds) {
    history.issued(key, inputs, outputs);
    history.took(seconds);
  }
  void step() {
    op(1, {0}, {1}, 1);
    op(2, {1}, {2}, 2);
    op(3, {1, 2}, {3}, 4);
  }
};

TEST(History, TheFirstTimeNothingIsForetold) {
  Stream s;
  s.step();
  EXPECT_FALSE(s.history.follows());
  EXPECT_FALSE(s.history.next_use(1).known);
}

TEST(History, TheSecondTimeTheNextUseIsThatOfTheFirst) {
  Stream s;
  s.step();
  s.step();  // finds its place with the third operation at the latest
  s.op(1, {0}, {1}, 1);
  ASSERT_TRUE(s.history.follows());
  EXPECT_DOUBLE_EQ(s.history.next_use(1).at - s.history.now(), 1) << "b begins when a has run";
  s.op(2, {1}, {2}, 2);
  EXPECT_DOUBLE_EQ(s.history.next_use(1).at - s.history.now(), 2);
  EXPECT_DOUBLE_EQ(s.history.next_use(2).at - s.history.now(), 2);
  s.op(3, {1, 2}, {3}, 4);
  EXPECT_TRUE(s.history.next_use(2).known);
  EXPECT_EQ(s.history.next_use(2).at, std::numeric_limits<double>::infinity()) << "never again: it was made anew the next time";
  EXPECT_DOUBLE_EQ(s.history.next_use(0).at - s.history.now(), 4) << "the next step";
}

TEST(History, AnOperationMoreOrLessDoesNotLoseThePlace) {
  Stream s;
  for (int i = 0; i < 3; ++i) s.step();
  s.op(1, {0}, {1}, 1);
  s.op(99, {0}, {9}, 1);  // new
  EXPECT_FALSE(s.history.follows());
  s.op(2, {1}, {2}, 2);  // its producer is one operation farther away than before
  s.op(3, {1, 2}, {3}, 4);
  s.step();
  EXPECT_TRUE(s.history.follows()) << "found again";
}

TEST(History, AnotherShapeIsAnotherOperation) {
  Stream s;
  s.step();
  s.step();
  s.op(7, {0}, {1}, 1);
  EXPECT_FALSE(s.history.follows());
  EXPECT_FALSE(s.history.next_use(1).known);
}

TEST(History, WhatIsStillThereMayBeReadAgain) {
  Stream s;
  for (machine::StorageId id = 1; id <= 4; ++id) s.op(1, {0}, {id}, 1);  // 4 as 3, which has not been read again, and has not ended
  ASSERT_TRUE(s.history.follows());
  EXPECT_FALSE(s.history.next_use(4).known);
  s.history.ended(3);
  EXPECT_TRUE(s.history.next_use(4).known);
}

TEST(History, ItIsBounded) {
  Stream s{History(100)};
  for (int i = 0; i < 1000; ++i) s.step();
  EXPECT_LE(s.history.operations(), 100u);
  EXPECT_TRUE(s.history.follows());
}

TEST(History, ATraceThatWasLearntIsFollowedFromItsFirstOperation) {
  Trace trace;
  const TensorId source = trace.put(8);
  const TraceOutput output{.bytes = 8};
  const TensorId a = trace.apply({.name = "a", .key = 1, .seconds = 1, .inputs = {&source, 1}, .outputs = {&output, 1}});
  trace.apply({.name = "b", .key = 2, .seconds = 2, .inputs = {&a, 1}, .outputs = {&output, 1}});
  trace.want(a);
  History history;
  history.learn(trace);
  const Ids in = {5}, out = {6}, last = {7};
  history.issued(1, in, out);
  EXPECT_TRUE(history.follows());
  EXPECT_DOUBLE_EQ(history.next_use(6).at - history.now(), 1);
  history.issued(2, out, last);
  EXPECT_DOUBLE_EQ(history.next_use(6).at - history.now(), 2) << "asked for in the end";
  EXPECT_EQ(history.next_use(7).at, std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace regrow::remat
