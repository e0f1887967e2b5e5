// SPDX-License-Identifier: Apache-2.0
#include "regrow/machine/placement.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "regrow/machine/size_class.h"

namespace regrow::machine {
namespace {

using Kind = PageAction::Kind;
using Actions = std::vector<PageAction>;

constexpr std::size_t kib = 1024, mib = kib * kib;

std::size_t bytes_of(const Actions& actions, Kind kind) {
  std::size_t sum = 0;
  for (const PageAction& action : actions) sum += action.kind == kind ? action.bytes : 0;
  return sum;
}

TEST(SizeClasses, AreStepsOf64BytesThenFourForEachDoubling) {
  std::set<std::size_t> sizes;
  for (std::size_t bytes = 1; bytes <= 32 * kib; ++bytes) {
    const std::size_t rounded = Placement::rounded(bytes);
    ASSERT_GE(rounded, bytes);
    ASSERT_EQ(rounded % 64, 0u);
    ASSERT_LT(rounded - bytes, bytes <= 512 ? 64u : (bytes + 3) / 4) << bytes;
    sizes.insert(rounded);
  }
  EXPECT_EQ(sizes.size(), 32u);
  EXPECT_EQ(Placement::rounded(513), 640u);
  EXPECT_EQ(Placement::rounded(641), 768u);
  EXPECT_EQ(Placement::rounded(896), 896u);
  EXPECT_EQ(Placement::rounded(897), 1024u);
  EXPECT_EQ(Placement::rounded(1025), 1280u);
  EXPECT_EQ(Placement::rounded(28 * kib), 28 * kib);
  EXPECT_EQ(Placement::rounded(28 * kib + 1), 32 * kib);
  EXPECT_EQ(Placement::rounded(32 * kib + 1), 64 * kib);
  EXPECT_EQ(Placement::rounded(64 * kib + 1), 128 * kib);
}

TEST(SizeClasses, LeaveAnEighthOfASlabUnusedAtMost) {
  for (const SizeClass& c : size_class_table) {
    EXPECT_LE(c.bytes * c.blocks, c.granules * granule);
    EXPECT_GE(c.bytes * c.blocks * 8, c.granules * granule * 7) << c.bytes;
    for (std::uint64_t block = 0; block < c.blocks; ++block) EXPECT_EQ(block * c.bytes * c.reciprocal >> 32, block);
  }
}

TEST(Placement, SmallBlocksOfAClassShareASlabThatIsChargedWhole) {
  Placement placement(mib * 64);
  Actions actions;
  std::set<std::uint64_t> offsets;
  for (int i = 0; i < 16; ++i) offsets.insert(placement.place(4000, actions).offset);
  EXPECT_EQ(offsets.size(), 16u);
  EXPECT_EQ(*offsets.rbegin() - *offsets.begin(), 15 * 4096u);
  EXPECT_EQ(placement.charged(), 64 * kib);
  EXPECT_EQ(placement.occupied(), 16 * 4096u);
  const Place next = placement.place(4096, actions);
  EXPECT_EQ(placement.charged(), 128 * kib);
  placement.release(next);
  EXPECT_EQ(placement.charged(), 64 * kib);  // an empty slab is free
}

TEST(Placement, ABlockOfNoBytesStandsNowhere) {
  Placement placement(mib);
  placement.set_limit(1);
  Actions actions;
  EXPECT_TRUE(placement.fits(0));
  const Place none = placement.place(0, actions);
  EXPECT_EQ(none, Place{});
  placement.release(none);
  EXPECT_TRUE(actions.empty());
  EXPECT_EQ(placement.charged(), 0u);
}

TEST(Placement, FitsToTheLastGranule) {
  Placement placement(mib * 64);
  Actions actions;
  placement.set_limit(10 * granule + 5);
  EXPECT_TRUE(placement.fits(10 * granule));
  EXPECT_FALSE(placement.fits(10 * granule + 1));
  EXPECT_FALSE(placement.fits(~std::size_t{0}));
  placement.place(9 * granule, actions);
  EXPECT_TRUE(placement.fits(100));
  EXPECT_FALSE(placement.fits(24'000));  // its slab has two granules
  placement.place(100, actions);
  EXPECT_EQ(placement.charged(), 10 * granule);
  EXPECT_FALSE(placement.fits(granule));
  EXPECT_FALSE(placement.fits(200));  // another class: another slab
  EXPECT_TRUE(placement.fits(80));
  EXPECT_TRUE(placement.fits(std::vector<std::size_t>(511, 128)));  // a slab of 512, of which one is taken
  EXPECT_FALSE(placement.fits(std::vector<std::size_t>(512, 128)));
  EXPECT_EQ(bytes_of(actions, Kind::commit), 10 * granule);  // whole frames where the limit lets them, not here
}

TEST(Placement, WhatDoesNotFitIsRefused) {
  Placement placement(mib * 64);
  Actions actions;
  placement.set_limit(granule);
  EXPECT_THROW(placement.place(granule + 1, actions), std::logic_error);
  placement.place(granule, actions);
  EXPECT_THROW(placement.place(1, actions), std::logic_error);
  EXPECT_EQ(placement.charged(), granule);
}

TEST(Placement, PagesAreCommittedInFramesOfHugePages) {
  Placement placement(mib * 64);
  Actions actions;
  placement.place(1, actions);
  EXPECT_EQ(placement.committed(), 2 * mib);
  placement.place(mib, actions);
  EXPECT_EQ(actions.size(), 1u);
  placement.place(mib, actions);
  ASSERT_EQ(actions.size(), 2u);
  EXPECT_EQ(placement.committed(), 4 * mib);
  const Place large = placement.place(40 * mib, actions);
  EXPECT_EQ(large.offset % (2 * mib), 0u);
}

TEST(Placement, AFragmentedArenaIsStitched) {
  Placement placement(mib * 256);
  Actions actions;
  placement.set_limit(32 * mib);
  std::vector<Place> places;
  for (int i = 0; i < 16; ++i) places.push_back(placement.place(2 * mib, actions));
  for (std::size_t i = 0; i < 16; i += 2) placement.release(places[i]);
  EXPECT_EQ(placement.largest_hole(), 2 * mib);
  EXPECT_TRUE(placement.fits(16 * mib));
  actions.clear();
  const Place whole = placement.place(16 * mib, actions);
  EXPECT_EQ(whole.bytes, 16 * mib);
  EXPECT_EQ(placement.committed(), 32 * mib);
  ASSERT_EQ(actions.size(), 8u);  // one move for each huge page
  for (const PageAction& action : actions) {
    EXPECT_EQ(action.kind, Kind::move);
    EXPECT_EQ(action.bytes, 2 * mib);
    EXPECT_EQ(action.offset % (2 * mib), 0u);
    EXPECT_EQ(action.to % (2 * mib), 0u);
  }
}

TEST(Placement, StitchingTakesWhatIsFreeAndCommitsTheRest) {
  Placement placement(mib * 256);
  Actions actions;
  placement.set_limit(20 * granule);
  std::vector<Place> places;
  for (int i = 0; i < 12; ++i) places.push_back(placement.place(granule, actions));
  for (std::size_t i = 0; i < 12; i += 3) placement.release(places[i]);  // 4 free ones, each on its own
  actions.clear();
  placement.place(12 * granule, actions);
  EXPECT_EQ(placement.committed(), 20 * granule);
  EXPECT_EQ(bytes_of(actions, Kind::move), 4 * granule);
  EXPECT_LE(bytes_of(actions, Kind::commit), 8 * granule);
}

TEST(Placement, PagesThatStandWhereTheyAreWantedStay) {
  Placement placement(mib * 256);
  Actions actions;
  placement.set_limit(100 * granule);
  const Place small = placement.place(20 * granule, actions);
  const Place last = placement.place(80 * granule, actions);
  placement.release(small);
  placement.release(last);
  actions.clear();
  placement.place(32 * granule, actions);
  placement.place(68 * granule, actions);
  EXPECT_TRUE(actions.empty());  // of other blocks, but in a row
}

TEST(Placement, ALimitBelowWhatIsCommittedStopsCommitsOnly) {
  Placement placement(mib * 256);
  Actions actions;
  const Place a = placement.place(10 * mib, actions);
  placement.place(2 * mib, actions);
  placement.release(a);
  placement.set_limit(8 * mib);
  actions.clear();
  EXPECT_FALSE(placement.fits(7 * mib));
  EXPECT_TRUE(placement.fits(6 * mib));
  placement.place(6 * mib, actions);
  EXPECT_TRUE(actions.empty());
  EXPECT_TRUE(placement.shrink(8 * mib, actions));
  EXPECT_EQ(placement.committed(), 8 * mib);
  EXPECT_EQ(bytes_of(actions, Kind::decommit), 4 * mib);
  EXPECT_FALSE(placement.shrink(7 * mib, actions));
}

TEST(Placement, AddressesEndWithTheReservation) {
  Placement placement(10 * granule);
  Actions actions;
  EXPECT_FALSE(placement.fits(11 * granule));
  std::vector<Place> places;
  for (int i = 0; i < 10; ++i) places.push_back(placement.place(granule, actions));
  EXPECT_FALSE(placement.fits(1));
  placement.release(places[2]);
  placement.release(places[4]);
  EXPECT_TRUE(placement.fits(granule));
  EXPECT_FALSE(placement.fits(2 * granule));  // no addresses in a row
  placement.release(places[3]);
  EXPECT_TRUE(placement.fits(3 * granule));
  EXPECT_EQ(placement.place(3 * granule, actions).offset, 2 * granule);
  for (const PageAction& action : actions) EXPECT_LE(action.offset + action.bytes, 10 * granule);
}

TEST(PlacementDeath, ReleasingWhatIsNotThereEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Placement placement(mib * 64);
  Actions actions;
  const Place small = placement.place(100, actions), large = placement.place(mib, actions);
  EXPECT_DEATH((placement.release(small), placement.release(small)), "nothing to release");
  EXPECT_DEATH((placement.release(large), placement.release(large)), "nothing to release");
  EXPECT_DEATH(placement.release({small.offset, 256}), "nothing to release");
  EXPECT_DEATH(placement.release({small.offset + 64, 128}), "nothing to release");
  EXPECT_DEATH(placement.release({large.offset + granule, mib - granule}), "nothing to release");
  EXPECT_DEATH(placement.release({50 * mib, granule}), "nothing to release");
}

}  // namespace
}  // namespace regrow::machine
