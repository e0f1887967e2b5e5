// SPDX-License-Identifier: Apache-2.0
// A naive model of a placement, for tests: it knows granules and blocks one by one, and checks each step. One thread.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "regrow/machine/placement.h"

namespace regrow::machine {

class PlacementModel {
 public:
  explicit PlacementModel(std::size_t reserve_bytes) : committed_(reserve_bytes / granule), holders_(reserve_bytes / granule) {}

  std::size_t limit = 0;  // 0: none

  void carry_out(const std::vector<PageAction>& actions) {
    for (const PageAction& action : actions) {
      ASSERT_GT(action.bytes, 0u);
      ASSERT_EQ((action.offset | action.bytes | action.to) % granule, 0u);
      if (action.kind == PageAction::Kind::commit) {
        mark(action.offset, action.bytes, true);
        committed_bytes_ += action.bytes;
      } else {
        mark(action.offset, action.bytes, false);
        if (action.kind == PageAction::Kind::move) mark(action.to, action.bytes, true);
        if (action.kind == PageAction::Kind::decommit) committed_bytes_ -= action.bytes;
      }
      if (action.kind == PageAction::Kind::commit && limit != 0) {
        ASSERT_LE(committed_bytes_, limit);
      }
    }
  }

  void add(const Place& place, std::size_t bytes) {
    ASSERT_GE(place.bytes, bytes);
    ASSERT_EQ(place.bytes, Placement::rounded(bytes));
    ASSERT_EQ(place.offset % (bytes >= granule ? 4096 : 64), 0u);
    ASSERT_LT(place.bytes, bytes + (bytes <= 32768 ? std::max<std::size_t>(64, bytes / 4 + 1) : granule));
    const auto next = blocks_.lower_bound(place.offset);
    if (next != blocks_.end()) {
      ASSERT_LE(place.offset + place.bytes, next->first);
    }
    if (next != blocks_.begin()) {
      ASSERT_LE(std::prev(next)->first + std::prev(next)->second, place.offset);
    }
    blocks_[place.offset] = place.bytes;
    occupied_ += place.bytes;
    for (std::size_t g = first_granule(place), end = g + granules(place); g < end; ++g) {
      ASSERT_TRUE(committed_.at(g)) << "granule " << g;
      if (holders_[g]++ == 0) charged_ += granule;
    }
    if (place.bytes <= 32768) slabs_[place.bytes][first_granule(place)] += 1;
  }

  void remove(const Place& place) {
    ASSERT_EQ(blocks_.erase(place.offset), 1u);
    occupied_ -= place.bytes;
    for (std::size_t g = first_granule(place), end = g + granules(place); g < end; ++g) {
      if (--holders_[g] == 0) charged_ -= granule;
    }
    if (place.bytes > 32768) return;
    auto& slabs = slabs_[place.bytes];
    if (--slabs[first_granule(place)] == 0) slabs.erase(first_granule(place));
  }

  // What placing so many bytes adds to charged().
  std::size_t added(std::size_t bytes) const {
    const std::size_t rounded = Placement::rounded(bytes);
    if (bytes == 0 || bytes > 32768) return rounded;
    const std::size_t slab = slab_granules(rounded) * granule;
    if (const auto found = slabs_.find(rounded); found != slabs_.end()) {
      for (const auto& entry : found->second) {
        if (entry.second < slab / rounded) return 0;
      }
    }
    return slab;
  }

  std::size_t committed() const { return committed_bytes_; }
  std::size_t occupied() const { return occupied_; }
  std::size_t charged() const { return charged_; }
  std::size_t largest_hole() const {
    std::size_t longest = 0, here = 0;
    for (std::size_t g = 0; g < committed_.size(); ++g) {
      here = committed_[g] && holders_[g] == 0 ? here + granule : 0;
      longest = std::max(longest, here);
    }
    return longest;
  }

 private:
  // The only class whose slabs have two granules: 24 KiB would leave a quarter of one unused.
  static std::size_t slab_granules(std::size_t rounded) { return rounded == 24576 ? 2 : 1; }
  static std::size_t granules(const Place& place) {
    return place.bytes <= 32768 ? slab_granules(place.bytes) : place.bytes / granule;
  }
  static std::size_t first_granule(const Place& place) {
    if (place.bytes != 24576) return place.offset / granule;
    std::uint64_t start = place.offset;  // that of its slab: a whole number of blocks before it
    while (start % granule != 0) start -= 24576;
    return start / granule;
  }

  void mark(std::uint64_t offset, std::size_t bytes, bool on) {
    for (std::uint64_t g = offset / granule; g < (offset + bytes) / granule; ++g) {
      ASSERT_NE(committed_.at(g), on) << "granule " << g;
      ASSERT_EQ(holders_[g], 0u) << "granule " << g << " is in use";
      committed_[g] = on;
    }
  }

  std::vector<bool> committed_;
  std::vector<std::uint32_t> holders_;  // blocks in a granule, or in its slab
  std::map<std::uint64_t, std::size_t> blocks_;
  std::map<std::size_t, std::map<std::size_t, std::size_t>> slabs_;  // class, first granule: blocks
  std::size_t committed_bytes_ = 0, occupied_ = 0, charged_ = 0;
};

}  // namespace regrow::machine
