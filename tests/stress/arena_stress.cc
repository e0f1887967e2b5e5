// SPDX-License-Identifier: Apache-2.0
// Placement and arena together: bytes of live blocks survive whatever is committed and moved around them, the resident set stays
// below the limit, and a program that repeats itself needs its pages once.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "regrow/memory/poison.h"
#include "tests/stress/placed_arena.h"

namespace regrow::stress {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

std::size_t resident(const memory::Arena& arena) {
  std::ifstream file("/proc/self/smaps");
  const auto low = reinterpret_cast<std::uintptr_t>(arena.base()), high = low + arena.reserved();
  std::size_t sum = 0;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    std::uintptr_t from = 0, to = 0;
    std::size_t kib = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2) inside = from < high && to > low;
    if (inside && std::sscanf(line.c_str(), "Rss: %zu kB", &kib) == 1) sum += kib << 10;
  }
  return sum;
}

struct Live {
  machine::Place place;
  std::size_t bytes;
  unsigned char value;
};

bool intact(memory::Arena& arena, const Live& live) {
  const std::byte* at = arena.at(live.place.offset);
  const auto value = static_cast<std::byte>(live.value);
  return live.bytes == 0 || (at[0] == value && std::memcmp(at, at + 1, live.bytes - 1) == 0);
}

TEST(ArenaStress, LiveBytesSurviveAndTheLimitHolds) {
  for (unsigned seed = 0; seed < 2; ++seed) {
    std::mt19937 rng(seed);
    std::size_t limit = 48 * mib;
    PlacedArena bench(limit);
    std::vector<Live> live;
    std::uniform_real_distribution<double> exponent(0, 23);
    const auto release_one = [&] {
      const std::size_t i = rng() % live.size();
      ASSERT_TRUE(intact(bench.arena(), live[i])) << "seed " << seed;
      bench.release(live[i].place);
      live[i] = live.back();
      live.pop_back();
    };
    for (int step = 0; step < (memory::shadowed ? 500 : 3'000) && !::testing::Test::HasFatalFailure(); ++step) {
      if (step % 500 == 499) {
        limit = (16 + rng() % 48) * mib;
        while (bench.placement().charged() > limit) release_one();
        bench.change_limit(limit);
      }
      const auto bytes = static_cast<std::size_t>(std::exp2(exponent(rng)));
      while (!bench.fits(bytes) || (!live.empty() && rng() % 3 == 0)) release_one();
      const Live next{bench.place(bytes), bytes, static_cast<unsigned char>(rng())};
      std::memset(bench.arena().at(next.place.offset), next.value, bytes);
      live.push_back(next);
      ASSERT_EQ(bench.arena().committed(), bench.placement().committed());
      if (step % 200 == 0) {
        ASSERT_LE(resident(bench.arena()), limit);
      }
    }
    for (const Live& block : live) ASSERT_TRUE(intact(bench.arena(), block));
  }
}

TEST(ArenaStress, ARepeatedStepNeedsNoPages) {
  TrainedArena trained;
  trained.step();
  const std::size_t page_actions = trained.bench.page_actions();
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  for (int i = 0; i < 100; ++i) trained.step();
  getrusage(RUSAGE_SELF, &after);
  EXPECT_EQ(trained.bench.page_actions(), page_actions);
  if (!memory::shadowed) {
    EXPECT_LE(after.ru_minflt - before.ru_minflt, 10);
  }
}

}  // namespace
}  // namespace regrow::stress
