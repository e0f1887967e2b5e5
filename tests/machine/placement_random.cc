// SPDX-License-Identifier: Apache-2.0
// Long random sequences of placements, each step compared with a naive model.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "regrow/machine/placement.h"

namespace regrow::machine {
namespace {

using Actions = std::vector<PageAction>;

// A naive model: a flag for each granule, and every live block in address order.
class Model {
 public:
  explicit Model(std::size_t reserve) : committed_(reserve / granule, false), holders_(reserve / granule, 0) {}

  void carry_out(const Actions& actions) {
    for (const PageAction& a : actions) {
      ASSERT_EQ(a.offset % granule, 0u);
      ASSERT_EQ(a.bytes % granule, 0u);
      ASSERT_GT(a.bytes, 0u);
      switch (a.kind) {
        case PageAction::Kind::commit: mark(a.offset, a.bytes, true); break;
        case PageAction::Kind::decommit: mark(a.offset, a.bytes, false); break;
        case PageAction::Kind::move:
          ASSERT_EQ(a.to % granule, 0u);
          mark(a.offset, a.bytes, false);
          mark(a.to, a.bytes, true);
          break;
      }
      if (limit != 0) {
        ASSERT_LE(total_, limit);
      }
    }
  }

  void add(const Place& place, std::size_t bytes) {
    ASSERT_GE(place.bytes, bytes);
    ASSERT_EQ(place.bytes, Placement::rounded(bytes));
    ASSERT_EQ(place.offset % (bytes >= granule ? 4096 : 64), 0u);
    const auto next = live_.lower_bound(place.offset);
    if (next != live_.end()) {
      ASSERT_LE(place.offset + place.bytes, next->first);
    }
    if (next != live_.begin()) {
      ASSERT_LE(std::prev(next)->first + std::prev(next)->second, place.offset);
    }
    live_[place.offset] = place.bytes;
    occupied_ += place.bytes;
    for (std::uint64_t g = place.offset / granule; g <= (place.offset + place.bytes - 1) / granule; ++g) {
      ASSERT_TRUE(committed_.at(g)) << "granule " << g;
      holders_[g] += 1;
    }
  }
  void remove(const Place& place) {
    live_.erase(place.offset);
    occupied_ -= place.bytes;
    for (std::uint64_t g = place.offset / granule; g <= (place.offset + place.bytes - 1) / granule; ++g) holders_[g] -= 1;
  }

  std::size_t committed() const { return total_; }
  std::size_t occupied() const { return occupied_; }
  std::size_t largest_hole(const Placement& placement) const {  // of granules that no block and no slab with a block holds
    std::size_t longest = 0, here = 0;
    for (std::size_t g = 0; g < committed_.size(); ++g) {
      here = committed_[g] && holders_[g] == 0 ? here + granule : 0;
      longest = std::max(longest, here);
    }
    (void)placement;
    return longest;
  }
  // Granules that hold a block: what is charged, but for the second half of a slab of two granules.
  std::size_t held() const {
    std::size_t sum = 0;
    for (std::uint32_t holders : holders_) sum += holders > 0 ? granule : 0;
    return sum;
  }

  std::size_t limit = 0;

 private:
  void mark(std::uint64_t offset, std::size_t bytes, bool on) {
    for (std::uint64_t g = offset / granule; g < (offset + bytes) / granule; ++g) {
      ASSERT_NE(committed_.at(g), on) << "granule " << g;
      ASSERT_EQ(holders_[g], 0u) << "granule " << g << " is in use";
      committed_[g] = on;
    }
    total_ = on ? total_ + bytes : total_ - bytes;
  }

  std::vector<bool> committed_;
  std::vector<std::uint32_t> holders_;
  std::map<std::uint64_t, std::size_t> live_;
  std::size_t total_ = 0, occupied_ = 0;
};

std::size_t draw_size(std::mt19937& rng) {
  switch (rng() % 8) {
    case 0: return 1 + rng() % 64;
    case 1: case 2: return 1 + rng() % 4096;
    case 3: return 1 + rng() % 32768;
    case 4: return 1 + rng() % (4 * granule);
    case 5: return (1 + rng() % 40) * granule;
    case 6: return 1 + rng() % ((std::size_t{6} << 20));
    default: return rng() % 50 == 0 ? 0 : (std::size_t{1} << (6 + rng() % 17));
  }
}

struct Outcome {
  std::vector<std::uint64_t> offsets;
  std::size_t moves = 0, commits = 0;
};

// `limit` 0: none. Blocks come and go around `target` bytes; whatever does not fit is made room for by random releases.
Outcome wander(unsigned seed, int steps, std::size_t limit, std::size_t target, int check_every) {
  constexpr std::size_t reserve = std::size_t{1} << 30;
  std::mt19937 rng(seed);
  Placement placement(reserve);
  Model model(reserve);
  placement.set_limit(limit);
  model.limit = limit;
  struct Live {
    Place place;
  };
  std::vector<Live> live;
  Outcome outcome;
  Actions actions;
  const auto release_one = [&] {
    const std::size_t i = rng() % live.size();
    model.remove(live[i].place);
    placement.release(live[i].place);
    live[i] = live.back();
    live.pop_back();
  };
  for (int step = 0; step < steps && !::testing::Test::HasFatalFailure(); ++step) {
    if (!live.empty() && (placement.charged() > target || rng() % 5 < 2)) {
      release_one();
    } else {
      const std::size_t bytes = draw_size(rng);
      while (!placement.fits(bytes)) {
        if (live.empty()) break;
        release_one();
      }
      if (!placement.fits(bytes)) {
        EXPECT_GT(Placement::rounded(bytes), limit / granule * granule);
        continue;
      }
      actions.clear();
      const Place place = placement.place(bytes, actions);
      model.carry_out(actions);
      for (const PageAction& a : actions) (a.kind == PageAction::Kind::move ? outcome.moves : outcome.commits) += 1;
      outcome.offsets.push_back(place.offset);
      if (bytes == 0) {
        EXPECT_EQ(place, Place{});
      } else {
        model.add(place, bytes);
        live.push_back({place});
      }
    }
    EXPECT_EQ(placement.committed(), model.committed());
    EXPECT_EQ(placement.occupied(), model.occupied());
    if (step % check_every == 0) {
      const std::size_t held = model.held();
      EXPECT_GE(placement.charged(), held);
      EXPECT_LE(placement.charged(), placement.committed());
      EXPECT_LE(placement.largest_hole(), model.largest_hole(placement));
    }
    if (::testing::Test::HasNonfatalFailure()) ADD_FAILURE() << "seed " << seed << " step " << step;
    if (::testing::Test::HasFailure()) return outcome;
  }
  while (!live.empty()) release_one();
  EXPECT_EQ(placement.charged(), 0u);
  EXPECT_EQ(placement.occupied(), 0u);
  if (placement.committed() > 0) {  // all of it fits in one piece
    EXPECT_TRUE(placement.fits(placement.committed()));
    actions.clear();
    const Place whole = placement.place(placement.committed(), actions);
    for (const PageAction& a : actions) EXPECT_EQ(a.kind, PageAction::Kind::move);
    model.carry_out(actions);
    EXPECT_EQ(whole.bytes, placement.committed());
  }
  return outcome;
}

TEST(PlacementRandom, AgreesWithANaiveModelWithoutLimit) {
  for (unsigned seed = 0; seed < 4; ++seed) wander(seed, 50'000, 0, std::size_t{200} << 20, 500);
}

TEST(PlacementRandom, AgreesWithANaiveModelUnderATightLimit) {
  for (std::size_t mib : {1, 3, 17, 64, 200}) {
    const std::size_t limit = (mib << 20) + 12'345;
    wander(static_cast<unsigned>(mib), 50'000, limit, limit, 500);
  }
}

TEST(PlacementRandom, TheSameCallsGiveTheSameOffsets) {
  const Outcome a = wander(7, 20'000, std::size_t{40} << 20, std::size_t{40} << 20, 1000);
  const Outcome b = wander(7, 20'000, std::size_t{40} << 20, std::size_t{40} << 20, 1000);
  EXPECT_EQ(a.offsets, b.offsets);
  EXPECT_GT(a.moves, 0u);  // it was tight enough to need them
}

}  // namespace
}  // namespace regrow::machine
