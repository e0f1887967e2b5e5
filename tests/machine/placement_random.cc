// SPDX-License-Identifier: Apache-2.0
// Long random sequences of placements, each step compared with a naive model.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "placement_model.h"
#include "regrow/machine/placement.h"

namespace regrow::machine {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

std::size_t draw_size(std::mt19937& rng) {
  switch (rng() % 8) {
    case 0: return 1 + rng() % 64;
    case 1: return 1 + rng() % 4096;
    case 2: return 1 + rng() % 32768;
    case 3: return 20'481 + rng() % 4096;  // slabs of two granules
    case 4: return 1 + rng() % (4 * granule);
    case 5: return (1 + rng() % 40) * granule;
    case 6: return 1 + rng() % (6 * mib);
    default: return rng() % 50 == 0 ? 0 : std::size_t{1} << (6 + rng() % 17);
  }
}

// A placement and its model, and the blocks that are live.
class Walk {
 public:
  Walk(unsigned seed, std::size_t limit, std::size_t reserve = std::size_t{1} << 30, std::size_t most_mappings = 16'384)
      : rng_(seed), placement_(reserve, most_mappings), model_(reserve) {
    set_limit(limit);
  }

  void set_limit(std::size_t limit) {
    placement_.set_limit(limit);
    model_.limit = limit;
  }

  // Blocks come and go around `target` bytes.
  void step(std::size_t target) {
    if (!live_.empty() && (placement_.charged() > target || rng_() % 5 < 2)) return release(rng_() % live_.size());
    const std::size_t bytes = draw_size(rng_);
    while (!check_fits(bytes) && !live_.empty()) release(rng_() % live_.size());
    if (check_fits(bytes)) place(bytes);
  }

  bool check_fits(std::size_t bytes) {
    const bool fits = placement_.fits(bytes);
    const std::size_t added = model_.added(bytes);
    EXPECT_EQ(fits, added == 0 || model_.limit == 0 || model_.charged() + added <= model_.limit) << bytes;
    return fits;
  }

  Place place(std::size_t bytes) {
    actions_.clear();
    const std::size_t charged = model_.charged() + model_.added(bytes);
    const std::size_t committed = placement_.committed();
    const Place place = placement_.place(bytes, actions_);
    model_.carry_out(actions_);
    for (const PageAction& action : actions_) {
      if (action.kind == PageAction::Kind::move) ++moves;
      if (action.kind == PageAction::Kind::commit) ++commits;
      if (action.kind == PageAction::Kind::decommit) ++decommits;
    }
    offsets.push_back(place.offset);
    if (bytes == 0) {
      EXPECT_EQ(place, Place{});
      return place;
    }
    model_.add(place, bytes);
    live_.push_back(place);
    EXPECT_EQ(placement_.charged(), charged);
    most_charged_ = std::max(most_charged_, charged);
    if (placement_.committed() > committed) {
      EXPECT_LE(placement_.committed(), charged + most_charged_ / 2 + 4 * mib);
    }
    return place;
  }

  void release(std::size_t i) {
    model_.remove(live_[i]);
    placement_.release(live_[i]);
    live_[i] = live_.back();
    live_.pop_back();
  }
  void release_all() {
    while (!live_.empty()) release(live_.size() - 1);
  }

  void shrink(std::size_t bytes) {
    actions_.clear();
    if (placement_.committed() > bytes / granule * granule) most_charged_ = placement_.charged();
    const bool done = placement_.shrink(bytes, actions_);
    for (const PageAction& action : actions_) EXPECT_EQ(action.kind, PageAction::Kind::decommit);
    model_.carry_out(actions_);
    EXPECT_EQ(done, placement_.charged() <= bytes);
    EXPECT_EQ(done, model_.committed() <= bytes);
    if (!done) {
      EXPECT_EQ(model_.committed(), model_.charged());
    }
  }

  void check(bool deeply) {
    EXPECT_EQ(placement_.committed(), model_.committed());
    EXPECT_EQ(placement_.occupied(), model_.occupied());
    EXPECT_EQ(placement_.charged(), model_.charged());
    if (deeply) {
      EXPECT_EQ(placement_.largest_hole(), model_.largest_hole());
    }
  }

  // Several at once fit exactly if one after the other they do.
  void check_fits_together() {
    std::vector<std::size_t> sizes(1 + rng_() % 6);
    for (std::size_t& bytes : sizes) bytes = draw_size(rng_);
    const bool all = placement_.fits(sizes);
    const std::size_t before = live_.size();
    bool one_by_one = true;
    for (std::size_t bytes : sizes) {
      one_by_one = one_by_one && check_fits(bytes);
      if (one_by_one) place(bytes);
    }
    EXPECT_EQ(all, one_by_one);
    while (live_.size() > before) release(live_.size() - 1);
  }

  // When all is released, everything committed fits in one piece, and no page is touched anew for it.
  void check_whole() {
    release_all();
    check(true);
    EXPECT_EQ(placement_.charged(), 0u);
    EXPECT_EQ(placement_.occupied(), 0u);
    const std::size_t all = placement_.committed();
    if (all == 0) return;
    const std::size_t commits_before = commits, decommits_before = decommits;
    set_limit(all);
    EXPECT_EQ(place(all).bytes, all);
    EXPECT_EQ(commits - commits_before, decommits - decommits_before);  // none, but with few mappings one for the other
    release_all();
  }

  std::mt19937& rng() { return rng_; }
  Placement& placement() { return placement_; }

  std::vector<std::uint64_t> offsets;
  std::size_t moves = 0, commits = 0, decommits = 0;

 private:
  std::mt19937 rng_;
  Placement placement_;
  PlacementModel model_;
  std::vector<Place> live_;
  std::vector<PageAction> actions_;
  std::size_t most_charged_ = 0;
};

bool failed() { return ::testing::Test::HasFailure(); }

TEST(PlacementRandom, AgreesWithANaiveModelWithoutLimit) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(seed);
    Walk walk(seed, 0);
    for (int step = 0; step < 50'000 && !failed(); ++step) {
      walk.step(200 * mib);
      walk.check(step % 500 == 0);
    }
    walk.check_whole();
  }
}

TEST(PlacementRandom, AgreesWithANaiveModelUnderATightLimit) {
  for (std::size_t size : {0, 1, 3, 17, 64, 200}) {
    SCOPED_TRACE(size);
    const std::size_t limit = size * mib + 112'345;
    Walk walk(static_cast<unsigned>(size), limit);
    for (int step = 0; step < 40'000 && !failed(); ++step) {
      walk.step(limit);
      walk.check(step % 500 == 0);
      if (step % 50 == 0) walk.check_fits_together();
    }
    EXPECT_EQ(walk.moves > 0, size >= 1);
    walk.check_whole();
  }
}

TEST(PlacementRandom, AgreesWithANaiveModelUnderAChangingLimit) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(seed);
    Walk walk(seed + 100, 50 * mib);
    std::size_t limit = 50 * mib;
    for (int step = 0; step < 50'000 && !failed(); ++step) {
      if (step % 100 == 0) {
        limit = walk.rng()() % 4 == 0 ? 0 : 1 + walk.rng()() % (90 * mib);
        // Sometimes the number alone changes, and pages beyond it stay; a machine sheds first.
        if (limit != 0 && walk.rng()() % 2 == 0) walk.shrink(limit);
        walk.set_limit(limit);
      }
      walk.step(limit == 0 ? 90 * mib : limit);
      walk.check(step % 500 == 0);
      if (step % 70 == 0) walk.check_fits_together();
    }
    walk.check_whole();
    walk.shrink(0);
    walk.check(true);
    EXPECT_EQ(walk.placement().committed(), 0u);
  }
}

TEST(PlacementRandom, AgreesWithANaiveModelWithFewMappings) {
  Walk walk(5, 40 * mib, std::size_t{1} << 30, 20);
  for (int step = 0; step < 40'000 && !failed(); ++step) {
    walk.step(40 * mib);
    walk.check(step % 500 == 0);
  }
  EXPECT_GT(walk.decommits, 0u);  // pages were given back and new ones taken instead of moving them
  walk.check_whole();
}

TEST(PlacementRandom, OffsetsDependOnWhatIsPlacedAlone) {
  // The same program with all the memory it wants, with just enough, and in an arena that has seen other things.
  Walk plenty(7, 0), tight(7, 0), used(8, 0);
  std::size_t peak = 0;
  for (int step = 0; step < 20'000; ++step) {
    plenty.step(40 * mib);
    peak = std::max(peak, plenty.placement().charged());
  }
  tight.set_limit(peak);
  for (int step = 0; step < 20'000; ++step) tight.step(40 * mib);
  for (int step = 0; step < 5'000; ++step) used.step(80 * mib);
  used.release_all();
  used.offsets.clear();
  used.rng().seed(7);
  for (int step = 0; step < 20'000; ++step) used.step(40 * mib);
  EXPECT_EQ(plenty.offsets, tight.offsets);
  EXPECT_EQ(plenty.offsets, used.offsets);
  EXPECT_GT(tight.moves, plenty.moves);
  EXPECT_GT(plenty.placement().committed(), tight.placement().committed());
}

TEST(PlacementRandom, ARepeatedProgramNeedsPagesOnce) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    Walk walk(seed, 0);
    std::size_t after_first = 0;
    for (int round = 0; round < 5 && !failed(); ++round) {
      walk.rng().seed(seed);
      for (int step = 0; step < 10'000; ++step) walk.step(60 * mib);
      walk.release_all();
      if (round == 0) after_first = walk.commits + walk.moves;
      EXPECT_EQ(walk.commits + walk.moves, after_first);
    }
  }
}

}  // namespace
}  // namespace regrow::machine
