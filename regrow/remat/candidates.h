// SPDX-License-Identifier: Apache-2.0
// Storages that may be evicted, by score = density / |time to `at`|^alpha: finds the lowest without looking at all of them. One thread.
//
// Candidates are sorted into buckets by the logarithm of their density (sixteen to a doubling), and within a bucket by time: the order in
// a bucket stays right while time goes on, so that only heads of buckets are compared. The choice is within 5 % of the lowest score.
// Entries are never looked for: a newer one makes an older one void.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace regrow::remat {

inline constexpr double never = std::numeric_limits<double>::infinity();

struct Standing {
  double density = 0;     // cost of having it again / bytes
  double at = 0;          // on a clock: of the last use, or of the next one
  bool foretold = false;  // of the next one
};

double distance(const Standing& standing, double now, double foretold_now) noexcept;

class Candidates {
 public:
  explicit Candidates(double alpha = 1) : alpha_(alpha) {}

  struct Choice {
    std::uint32_t id = ~0u;
    Standing standing;
    double score = never;
  };

  void insert(std::uint32_t id, const Standing& standing);  // or moves it
  void remove(std::uint32_t id) noexcept;
  bool holds(std::uint32_t id) const noexcept { return id < version_.size() && version_[id] % 2 == 1; }
  // The lowest score on the clocks of past and foretold uses; it stays. `id` is ~0 if there is none.
  Choice lowest(double now, double foretold_now);
  double score(const Standing& standing, double now, double foretold_now) const noexcept;
  void clear();

 private:
  struct Entry {
    double order;  // low first: time of the last use, or minus that of the next
    double density;
    std::uint32_t id, version;
  };
  using Heap = std::vector<Entry>;
  static constexpr std::size_t buckets = 2048;

  static std::size_t bucket_of(double density) noexcept;
  bool current(const Entry& entry) const noexcept { return version_[entry.id] == entry.version; }
  const Entry* head(Heap& heap);
  void rebuild();

  double alpha_;
  std::array<std::array<Heap, 2>, buckets> heaps_;           // by density; past, foretold
  std::array<std::array<std::uint64_t, buckets / 64>, 2> filled_{};  // bit: the heap has entries
  std::vector<std::uint32_t> version_;                       // odd: it is here
  std::size_t entries_ = 0, held_ = 0;
};

}  // namespace regrow::remat
