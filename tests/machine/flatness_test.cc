// SPDX-License-Identifier: Apache-2.0
// What the machine remembers does not grow with the length of a program, and in the steady state it allocates nothing: 100,000 steps
// of three kinds of training loops.
#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

#include "regrow/machine/machine.h"
#include "tests/machine/allocations.h"

namespace regrow::machine {
namespace {

constexpr int steps = 100'000;

class Loop {
 public:
  explicit Loop(std::size_t budget) {
    if (budget > 0) machine_.set_budget(0, budget), drain();
  }

  Slot put(std::size_t bytes) {
    const Slot slot = take();
    const CountAllocations counted;
    machine_.put(slot, 0, bytes), drain();
    return slot;
  }
  Slot apply(std::vector<Slot> inputs, std::size_t bytes, std::vector<Slot> deletes = {}, bool state = false) {
    const std::array<OutputSpec, 1> outputs = {OutputSpec{.slot = take(), .bytes = bytes, .reuse = 1}};
    {
      const CountAllocations counted;
      machine_.apply({.payload = ++payload_, .state = state, .inputs = inputs, .outputs = outputs, .deletes = deletes});
      drain();
    }
    for (Slot slot : deletes) free_.push_back(slot);
    return outputs[0].slot;
  }
  void del(Slot slot) {
    {
      const CountAllocations counted;
      machine_.del(slot), drain();
    }
    free_.push_back(slot);
  }
  void drop_and_fetch(Slot slot) {
    const CountAllocations counted;
    machine_.drop(slot), drain();
    machine_.fetch(slot), drain();
  }
  // Everything that is kept besides live tensors.
  std::size_t kept() const { return machine_.counters().ghosts + machine_.counters().recipes; }
  const Machine& machine() const { return machine_; }

 private:
  Slot take() {
    if (free_.empty()) return next_++;
    const Slot slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void drain() {
    while (machine_.next() != nullptr) machine_.done();
  }

  Machine machine_;
  std::vector<Slot> free_;
  Slot next_ = 0;
  Payload payload_ = 0;
};

class Flatness : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(BudgetOrNot, Flatness, testing::Values(std::size_t{0}, std::size_t{1} << 30));

constexpr std::size_t parameter = 4096, batch = 1024, scalar = 4;

TEST_P(Flatness, AnOptimizerLoopWithAMovingAverageOfTheParameters) {
  Loop loop(GetParam());
  Slot w = loop.put(parameter), momentum = loop.put(parameter), average = loop.apply({w}, parameter);
  std::size_t most_early = 0, most_late = 0, live_early = 0;
  for (int step = 0; step < steps; ++step) {
    const Slot x = loop.put(batch);
    const Slot hidden = loop.apply({x, w}, 8 * batch);
    const Slot loss = loop.apply({hidden}, scalar);
    const Slot gradient = loop.apply({hidden, w}, parameter, {hidden});
    loop.drop_and_fetch(loss);
    loop.del(x);
    momentum = loop.apply({momentum, gradient}, parameter, {momentum}, true);
    w = loop.apply({w, momentum, gradient}, parameter, {w, gradient}, true);
    const Slot scaled = loop.apply({average}, parameter, {average});
    average = loop.apply({scaled, w}, parameter, {scaled});
    loop.del(loss);
    std::size_t& most = step < steps / 2 ? most_early : most_late;
    most = std::max(most, loop.kept());
    if (step == 100) live_early = loop.machine().usage(0).live_bytes;
    if (step == steps / 2) {
      EXPECT_GT(std::exchange(CountAllocations::count, 0), 0) << "the first steps fill the pools";
    }
  }
  EXPECT_EQ(CountAllocations::count, 0) << "in the steady state nothing is allocated";
  EXPECT_LE(most_late, most_early);
  EXPECT_EQ(loop.machine().usage(0).live_bytes, live_early);
  EXPECT_LT(most_early, GetParam() == 0 ? 20u : 50'000u);
  loop.machine().check();
}

TEST_P(Flatness, ALoopThatKeepsTheLossOfEveryStep) {
  Loop loop(GetParam());
  Slot w = loop.put(parameter);
  std::size_t most_early = 0, most_late = 0;
  for (int step = 0; step < steps; ++step) {
    const Slot x = loop.put(batch);
    const Slot hidden = loop.apply({x, w}, 8 * batch);
    loop.apply({hidden}, scalar);  // kept for ever
    const Slot gradient = loop.apply({hidden, w}, parameter, {hidden});
    loop.del(x);
    w = loop.apply({w, gradient}, parameter, {w, gradient}, true);
    std::size_t& most = step < steps / 2 ? most_early : most_late;
    most = std::max(most, loop.kept());
  }
  EXPECT_LE(most_late, most_early);
  EXPECT_LT(most_early, 20u);
  EXPECT_EQ(loop.machine().counters().live, steps + 1u);
  loop.machine().check();
}

TEST_P(Flatness, AHandWrittenLoopWithoutStateOperators) {
  Loop loop(GetParam());
  Slot w = loop.put(parameter);
  std::size_t most_early = 0, most_late = 0, peak_early = 0;
  for (int step = 0; step < steps; ++step) {
    const Slot hidden = loop.apply({w}, batch);
    const Slot gradient = loop.apply({hidden, w}, parameter, {hidden});
    const Slot scaled = loop.apply({gradient}, parameter, {gradient});
    w = loop.apply({w, scaled}, parameter, {w, scaled});
    std::size_t& most = step < steps / 2 ? most_early : most_late;
    most = std::max(most, loop.kept());
    if (step == steps / 2) peak_early = loop.machine().usage(0).peak_bytes;
  }
  EXPECT_LE(most_late, most_early);
  EXPECT_EQ(loop.machine().usage(0).peak_bytes, peak_early);
  EXPECT_LT(most_early, GetParam() == 0 ? 20u : 50'000u);
  loop.machine().check();
}

}  // namespace
}  // namespace regrow::machine
