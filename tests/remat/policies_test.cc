// SPDX-License-Identifier: Apache-2.0
// Scores by hand calculation, on graphs that are put together by hand.
#include <gtest/gtest.h>

#include <random>

#include "regrow/base/error.h"
#include "regrow/remat/candidates.h"
#include "regrow/remat/coop.h"
#include "regrow/remat/policies.h"
#include "regrow/remat/replay.h"
#include "tests/remat/traces.h"

namespace regrow::remat {
namespace {

using machine::Where;

// Storages made one by one, as a machine would make them.
class Scene {
 public:
  explicit Scene(machine::Policy& policy) : policy_(policy) { policy_.attach(graph); }

  StorageId make(double seconds, std::size_t bytes, std::vector<StorageId> inputs = {}) {
    const StorageId id = graph.add_storage(bytes, 0);
    const RecipeId recipe = graph.add_recipe(0, 0);
    graph.recipe(recipe).seconds = seconds;
    machine::EdgeId last = none;
    for (StorageId input : inputs) last = graph.add_input(recipe, input, last);
    graph.add_output(recipe, id, bytes, -1);
    graph[id].where = Where::memory;
    graph[id].offered = true;
    graph[id].place = {.offset = next_, .bytes = bytes};
    next_ += bytes;
    policy_.ran(key_++, seconds, false);
    for (StorageId input : inputs) {
      if (graph[input].where == Where::memory) policy_.used(input);
    }
    policy_.entered(id);
    policy_.used(id);
    return id;
  }
  void evict(StorageId id) {
    graph[id].where = Where::nowhere;
    graph[id].place = {};
    policy_.left(id);
  }
  void pass(double seconds) { policy_.ran(key_++, seconds, false); }
  StorageId victim(std::size_t bytes = 1) { return policy_.victim(0, bytes); }

  Graph graph;

 private:
  machine::Policy& policy_;
  std::uint64_t key_ = 1, next_ = 0;
};

class EachPolicy : public ::testing::TestWithParam<bool> {};  // exact or not: far apart, they choose alike

TEST_P(EachPolicy, LruTakesWhatWasUsedLongestAgo) {
  const auto policy = make_policy("lru", GetParam());
  Scene scene(*policy);
  const StorageId a = scene.make(1, 100), b = scene.make(1, 1000);
  scene.make(1, 10, {a});  // uses a
  scene.pass(1);
  EXPECT_EQ(scene.victim(), b);
}

TEST_P(EachPolicy, SizeTakesTheLargest) {
  const auto policy = make_policy("size", GetParam());
  Scene scene(*policy);
  scene.make(1, 100);
  const StorageId large = scene.make(1000, 1000);
  scene.make(1, 10);
  EXPECT_EQ(scene.victim(), large);
}

TEST_P(EachPolicy, LocalTakesCheapBytesThatAreStale) {
  const auto policy = make_policy("local", GetParam());
  Scene scene(*policy);
  scene.make(8, 100);                             // clock 8; in the end 8 / (100 x 7) = 0.0114
  const StorageId b = scene.make(3, 100);         // clock 11; 3 / (100 x 4) = 0.0075
  scene.make(2, 100);                             // clock 13; 2 / (100 x 2) = 0.01
  scene.pass(2);
  EXPECT_EQ(scene.victim(), b);
}

// a -> b -> c, and d apart. With b evicted c's neighbourhood costs 10 more.
TEST_P(EachPolicy, DtrCountsWhatWasEvictedAround) {
  for (const char* name : {"dtr", "dtr-eq"}) {
    const auto policy = make_policy(name, GetParam());
    Scene scene(*policy);
    const StorageId a = scene.make(1, 100);
    const StorageId b = scene.make(10, 100, {a});
    const StorageId c = scene.make(2, 100, {b});
    const StorageId d = scene.make(6, 100);
    scene.pass(100);
    // Costs 1, 10, 2, 6, ages 117 - ..., so that a goes first: 1/117. Then b's is 11/116, c 2/106, d 6/100.
    EXPECT_EQ(scene.victim(), a) << name;
    scene.evict(b);
    // a: 11/116, c: 12/106, d: 6/100.
    EXPECT_EQ(scene.victim(), d) << name;
    scene.evict(d);
    EXPECT_EQ(scene.victim(), a) << name;
    (void)c;
  }
}

TEST_P(EachPolicy, WhatIsPinnedComesBackAfterItsUse) {
  const auto policy = make_policy("local", GetParam());
  Scene scene(*policy);
  const StorageId a = scene.make(1, 1000), b = scene.make(1, 100);
  scene.pass(10);
  scene.graph[a].pins = 1;
  EXPECT_EQ(scene.victim(), b);
  scene.graph[a].pins = 0;
  policy->used(a);
  scene.pass(10);
  EXPECT_EQ(scene.victim(), a);
  scene.graph[a].pins = scene.graph[b].pins = 1;
  EXPECT_EQ(scene.victim(), none);
}

INSTANTIATE_TEST_SUITE_P(Ways, EachPolicy, ::testing::Bool(), [](const auto& test) { return test.param ? "exact" : "bucketed"; });

TEST(Coop, TakesTheCheapestWindowOfNeighbours) {
  CoopPolicy policy;
  Scene scene(policy);
  scene.make(1, 100);                              // 0: cheap, but its neighbour is dear
  scene.make(50, 100);                             // 1
  const StorageId c = scene.make(4, 100), d = scene.make(4, 100);
  scene.pass(1000);
  std::vector<StorageId> chosen = {scene.victim(200)};
  scene.evict(chosen[0]);
  chosen.push_back(scene.victim(200));
  std::sort(chosen.begin(), chosen.end());
  EXPECT_EQ(chosen, (std::vector<StorageId>{c, d}));
}

TEST(Candidates, TheLowestScoreIsFoundWithinAFewPercentWhateverIsMovedAround) {
  std::mt19937_64 random(1);
  Candidates candidates;
  std::vector<Standing> all(300);
  std::vector<bool> in(all.size());
  double now = 1000;
  for (int step = 0; step < 20'000; ++step, now += 0.01) {
    const std::uint32_t id = static_cast<std::uint32_t>(random() % all.size());
    if (random() % 4 == 0) {
      candidates.remove(id);
      in[id] = false;
    } else {
      const bool foretold = random() % 2 == 0;
      const double away = 1 + static_cast<double>(random() % 100'000) / 100;
      all[id] = {.density = std::exp(static_cast<double>(random() % 2000) / 100),
                 .at = foretold ? now + away : now - away,
                 .foretold = foretold};
      candidates.insert(id, all[id]);
      in[id] = true;
    }
    double lowest = never;
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (in[k]) lowest = std::min(lowest, candidates.score(all[k], now, now));
    }
    const Candidates::Choice choice = candidates.lowest(now, now);
    ASSERT_EQ(choice.id == ~0u, lowest == never);
    if (choice.id != ~0u) {
      ASSERT_TRUE(in[choice.id]);
      ASSERT_LE(candidates.score(all[choice.id], now, now), lowest * 1.0443) << "sixteen buckets to a doubling: 2^(1/16) at most";
    }
  }
}

TEST(Policies, AnUnknownNameIsAnErrorThatListsTheOthers) {
  try {
    make_policy("best");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "policy: no policy is named 'best'; there are next-use, dtr-eq, dtr, local, lru, size, coop");
  }
}

TEST(Policies, EachCompletesATrainingStepInHalfTheMemoryWithinItsBudget) {
  const Trace trace = training(12, 2);
  const std::size_t peak = replay(trace, nullptr, 0).peak_bytes;
  for (std::string_view name : policies) {
    const auto policy = make_policy(name);
    const Outcome outcome = replay(trace, policy.get(), peak / 2);
    EXPECT_EQ(outcome.status, Status::ok) << name;
    EXPECT_LE(outcome.peak_bytes, peak / 2) << name;
    EXPECT_GT(outcome.evictions, 0u) << name;
    EXPECT_GT(outcome.overhead(), 0) << name;
  }
}

}  // namespace
}  // namespace regrow::remat
