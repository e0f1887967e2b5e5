// SPDX-License-Identifier: Apache-2.0
#include "regrow/memory/arena.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "regrow/base/error.h"
#include "regrow/memory/poison.h"

namespace regrow::memory {
namespace {

constexpr std::size_t g = granule_bytes;
constexpr std::size_t mib = std::size_t{1} << 20;

struct Mapped {
  std::size_t resident = 0, huge = 0, mappings = 0, accessible = 0;
};

// What the kernel says about the addresses of an arena.
Mapped mapped(const Arena& arena) {
  std::ifstream file("/proc/self/smaps");
  const auto low = reinterpret_cast<std::uintptr_t>(arena.base()), high = low + arena.reserved();
  Mapped result;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    std::uintptr_t from = 0, to = 0;
    char access[5] = {};
    std::size_t kib = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &from, &to, access) == 3) {
      inside = from < high && to > low;
      if (!inside) continue;
      result.mappings += 1;
      if (access[0] == 'r') result.accessible += std::min(to, high) - std::max(from, low);
    } else if (inside && std::sscanf(line.c_str(), "Rss: %zu kB", &kib) == 1) {
      result.resident += kib << 10;
    } else if (inside && std::sscanf(line.c_str(), "AnonHugePages: %zu kB", &kib) == 1) {
      result.huge += kib << 10;
    }
  }
  return result;
}

void fill(std::byte* at, std::size_t bytes, unsigned seed) {
  for (std::size_t i = 0; i < bytes; i += 8) {
    const std::uint64_t value = seed * 0x9e3779b97f4a7c15ull + i;
    std::memcpy(at + i, &value, 8);
  }
}

bool holds(const std::byte* at, std::size_t bytes, unsigned seed) {
  for (std::size_t i = 0; i < bytes; i += 8) {
    const std::uint64_t value = seed * 0x9e3779b97f4a7c15ull + i;
    if (std::memcmp(at + i, &value, 8) != 0) return false;
  }
  return true;
}

TEST(Arena, ReservesAddressesAndNoMemory) {
  Arena arena(64 * mib);
  EXPECT_EQ(arena.reserved(), 64 * mib);
  EXPECT_EQ(arena.committed(), 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.base()) % (2 * mib), 0u);
  const Mapped now = mapped(arena);
  EXPECT_EQ(now.resident, 0u);
  EXPECT_EQ(now.accessible, 0u);
}

TEST(Arena, TheDefaultReservationIsGranted) {
  Arena a, b;
  EXPECT_GE(a.reserved(), std::size_t{4} << 30);
  EXPECT_EQ(a.reserved(), default_reserve_bytes());
}

TEST(Arena, CommittedBytesAreZeroAndWritableAndOnlyThey) {
  Arena arena(64 * mib);
  arena.commit(3 * g, 2 * g);
  EXPECT_EQ(arena.committed(), 2 * g);
  for (std::size_t i = 0; i < 2 * g; ++i) ASSERT_EQ(arena.at(3 * g)[i], std::byte{0});
  fill(arena.at(3 * g), 2 * g, 1);
  EXPECT_TRUE(holds(arena.at(3 * g), 2 * g, 1));
  EXPECT_EQ(mapped(arena).accessible, 2 * g);
  EXPECT_EQ(mapped(arena).resident, 2 * g);
  arena.decommit(3 * g, g);
  EXPECT_EQ(mapped(arena).accessible, g);
  EXPECT_EQ(mapped(arena).resident, g);
  arena.commit(3 * g, g);
  EXPECT_EQ(arena.at(3 * g)[17], std::byte{0});
}

TEST(Arena, MovedPagesKeepTheirBytes) {
  Arena arena(256 * mib);
  arena.commit(5 * g, 100 * g);
  fill(arena.at(5 * g), 100 * g, 9);
  arena.move(5 * g, 1000 * g, 100 * g);
  EXPECT_EQ(arena.committed(), 100 * g);
  EXPECT_TRUE(holds(arena.at(1000 * g), 100 * g, 9));
  EXPECT_EQ(mapped(arena).resident, 100 * g);
  EXPECT_EQ(mapped(arena).accessible, 100 * g);
  arena.commit(5 * g, g);  // the old addresses may be used again
  fill(arena.at(5 * g), g, 4);
  EXPECT_TRUE(holds(arena.at(1000 * g), 100 * g, 9));
}

TEST(Arena, ARangeOfSeveralPiecesMovesAsOne) {
  Arena arena(256 * mib);
  arena.commit(0, 8 * g);
  for (unsigned i = 0; i < 8; ++i) fill(arena.at(i * g), g, i);
  for (unsigned i = 0; i < 8; i += 2) arena.move(i * g, (100 + i / 2) * g, g);           // even ones: 100..103
  for (unsigned i = 1; i < 8; i += 2) arena.move(i * g, (104 + i / 2) * g, g);           // odd ones: 104..107
  arena.move(100 * g, 500 * g, 8 * g);
  for (unsigned i = 0; i < 8; ++i) EXPECT_TRUE(holds(arena.at((500 + i % 2 * 4 + i / 2) * g), g, i)) << i;
  EXPECT_EQ(mapped(arena).resident, 8 * g);
}

TEST(Arena, RandomActionsKeepBytesAndNeverExceedWhatIsCommitted) {
  constexpr std::size_t count = 1024;
  Arena arena(count * g);
  std::vector<unsigned> content(count, 0);  // 0: not committed
  std::mt19937 rng(3);
  unsigned next = 1;
  std::size_t committed = 0;
  for (int step = 0; step < 3000; ++step) {
    const std::size_t n = 1 + rng() % (step % 10 == 0 ? 100 : 5);
    const std::size_t at = rng() % (count - n), to = rng() % (count - n);
    const auto all = [&](std::size_t first, bool on) {
      for (std::size_t i = first; i < first + n; ++i) if ((content[i] != 0) != on) return false;
      return true;
    };
    if (all(at, false) && committed < 400) {
      arena.commit(at * g, n * g);
      for (std::size_t i = at; i < at + n; ++i) content[i] = next, fill(arena.at(i * g), g, next), ++next;
      committed += n;
    } else if (all(at, true) && all(to, false)) {
      arena.move(at * g, to * g, n * g);
      for (std::size_t i = 0; i < n; ++i) std::swap(content[at + i], content[to + i]);
    } else if (all(at, true) && rng() % 3 == 0) {
      arena.decommit(at * g, n * g);
      for (std::size_t i = at; i < at + n; ++i) content[i] = 0;
      committed -= n;
    }
    ASSERT_EQ(arena.committed(), committed * g);
    if (step % 100 != 0) continue;
    for (std::size_t i = 0; i < count; ++i) {
      if (content[i] != 0) {
        ASSERT_TRUE(holds(arena.at(i * g), g, content[i])) << i;
      }
    }
    const Mapped now = mapped(arena);
    ASSERT_LE(now.resident, arena.committed());
    ASSERT_EQ(now.accessible, arena.committed());
  }
  // The kernel may split what we count as one mapping, but not much.
  EXPECT_LE(mapped(arena).mappings, arena.mappings() * 3 / 2 + 8);
  EXPECT_GT(arena.mappings(), 20u);
}

TEST(Arena, HugePagesFormInWholeFramesAndNeverBeyond) {
  Arena arena(64 * mib);
  arena.commit(0, 4 * mib + 3 * g);
  arena.at(0)[0] = std::byte{1};
  arena.at(2 * mib)[0] = std::byte{1};
  arena.at(4 * mib)[0] = std::byte{1};
  const Mapped now = mapped(arena);
  EXPECT_LE(now.resident, arena.committed());
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string words;
  std::getline(file, words);
  if (shadowed || words.empty() || words.find("[never]") != std::string::npos) GTEST_SKIP() << "no huge pages here";
  EXPECT_EQ(now.huge, 4 * mib);
  // A hole in a frame splits the huge page; touching what is left does not bring the hole back.
  arena.decommit(2 * mib + 5 * g, g);
  std::memset(arena.at(2 * mib), 1, 5 * g);
  EXPECT_LE(mapped(arena).resident, arena.committed());
  EXPECT_EQ(mapped(arena).huge, 2 * mib);
  // A whole frame moves as it is.
  arena.move(0, 32 * mib, 2 * mib);
  EXPECT_EQ(mapped(arena).huge, 2 * mib);
}

TEST(Arena, ReusedMemoryCostsNoFaults) {
  Arena arena(64 * mib);
  arena.commit(0, 8 * mib);
  std::memset(arena.at(0), 1, 8 * mib);
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  for (int round = 0; round < 20; ++round) {
    arena.mark_free(0, 8 * mib);
    arena.mark_used(0, 8 * mib, 8 * mib);
    std::memset(arena.at(0), round, 8 * mib);
  }
  getrusage(RUSAGE_SELF, &after);
  if (!shadowed) {
    EXPECT_LE(after.ru_minflt - before.ru_minflt, 8);
  }
}

TEST(Arena, FewMappingsWhateverHappens) {
  Arena arena(std::size_t{8} << 30);
  // Every second granule is returned: two mappings each, until half of the system's limit is reached.
  std::size_t most = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> most;
  if (most > 100'000) GTEST_SKIP() << "the system allows " << most << " mappings";
  const std::size_t count = most + 1000;
  arena.commit(0, count * g);
  for (std::size_t i = 0; i < count; i += 2) arena.decommit(i * g, g);
  EXPECT_LE(arena.mappings(), most / 2 + 2);
  EXPECT_EQ(arena.committed(), count / 2 * g);
  for (std::size_t i = 1; i < count; i += 100) arena.at(i * g)[0] = std::byte{1};
  EXPECT_LE(mapped(arena).mappings, most / 2 + 10);
  EXPECT_LE(mapped(arena).resident, (count / 100 + 1) * 4096);  // no huge pages any more: they would cover what was returned
  arena.commit(0, g);
  EXPECT_EQ(arena.at(5)[0], std::byte{0});
  arena.at(g)[7] = std::byte{3};
  arena.move(g, 2 * g, g);
  EXPECT_EQ(arena.at(2 * g)[7], std::byte{3});
}

TEST(ArenaDeath, CommittingMoreThanTheLimitEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Arena arena(64 * mib);
        arena.set_limit(4 * g);
        arena.commit(0, 3 * g);
        arena.commit(10 * g, 2 * g);
      },
      "more than the limit.*131072 bytes.*committed 196608, limit 262144");
}

TEST(ArenaDeath, ALimitBelowWhatIsCommittedEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Arena arena(64 * mib);
        arena.commit(0, 3 * g);
        arena.set_limit(2 * g);
      },
      "below what is committed");
}

TEST(ArenaDeath, UsingARangeTwiceOrOutsideEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH({ Arena a(64 * mib); a.commit(0, g); a.commit(0, g); }, "not a free range");
  EXPECT_DEATH({ Arena a(64 * mib); a.decommit(0, g); }, "not a committed range");
  EXPECT_DEATH({ Arena a(64 * mib); a.commit(0, g); a.commit(g, 64 * mib); }, "not a free range");
  EXPECT_DEATH({ Arena a(64 * mib); a.commit(g, 4 * g); a.move(g, 2 * g, 4 * g); }, "not a free range");
}

TEST(ArenaDeath, WhatIsNotCommittedCannotBeTouched) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH({ Arena a(64 * mib); a.commit(0, g); a.at(g)[0] = std::byte{1}; }, "");
  EXPECT_DEATH({ Arena a(64 * mib); a.commit(0, g); a.move(0, 5 * g, g); a.at(0)[0] = std::byte{1}; }, "");
}

TEST(ArenaDeath, UnderTheAddressSanitizerFreedBlocksAndTailsCannotBeTouched) {
#ifndef REGROW_ADDRESS_SANITIZER
  GTEST_SKIP() << "not built with it";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto touch = [](std::size_t at) {
    Arena a(64 * mib);
    a.commit(0, g);
    a.mark_free(0, 640);
    a.mark_used(0, 640, 600);
    a.mark_used(640, 640, 640);
    a.at(0)[599] = a.at(640)[0] = std::byte{1};  // allowed
    a.at(0)[at] = std::byte{1};
  };
  EXPECT_DEATH(touch(600), "use-after-poison");
  EXPECT_DEATH(
      {
        Arena a(64 * mib);
        a.commit(0, g);
        a.mark_free(0, 640);
        a.at(100)[0] = std::byte{1};
      },
      "use-after-poison");
}

}  // namespace
}  // namespace regrow::memory
