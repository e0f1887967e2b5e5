// SPDX-License-Identifier: Apache-2.0
// Runs of granules ordered by length, then address: a treap whose links stand in tables indexed by a run's first granule, so that it
// never allocates. One thread.
#pragma once

#include <cstdint>
#include <vector>

namespace regrow::machine {

inline constexpr std::uint32_t no_run = 0xffffffff;

// Shared by the trees of a pool: a run is in one of them at most.
struct RunTable {
  std::vector<std::uint32_t> length;  // of the run that begins, or ends, here
  std::vector<std::uint32_t> left, right;
};

class RunTree {
 public:
  explicit RunTree(RunTable& table) noexcept : table_(table) {}

  void insert(std::uint32_t run) noexcept {
    std::uint32_t* link = &root_;
    while (*link != no_run && priority(*link) >= priority(run)) link = less(run, *link) ? left(*link) : right(*link);
    std::uint32_t rest = *link;
    *link = run;
    std::uint32_t* low = left(run);
    std::uint32_t* high = right(run);
    while (rest != no_run) {
      if (less(rest, run)) {
        *low = rest, low = right(rest), rest = *low;
      } else {
        *high = rest, high = left(rest), rest = *high;
      }
    }
    *low = *high = no_run;
  }

  void erase(std::uint32_t run) noexcept {
    std::uint32_t* link = &root_;
    while (*link != run) link = less(run, *link) ? left(*link) : right(*link);
    std::uint32_t a = *left(run), b = *right(run);
    while (a != no_run && b != no_run) {
      if (priority(a) >= priority(b)) {
        *link = a, link = right(a), a = *link;
      } else {
        *link = b, link = left(b), b = *link;
      }
    }
    *link = a != no_run ? a : b;
  }

  // The shortest run of at least `n`, the lowest of these.
  std::uint32_t best_fit(std::uint32_t n) const noexcept {
    std::uint32_t found = no_run;
    for (std::uint32_t at = root_; at != no_run;) {
      if (table_.length[at] >= n) {
        found = at, at = table_.left[at];
      } else {
        at = table_.right[at];
      }
    }
    return found;
  }

  std::uint32_t longest_length() const noexcept {
    std::uint32_t at = root_;
    while (at != no_run && table_.right[at] != no_run) at = table_.right[at];
    return at != no_run ? table_.length[at] : 0;
  }

 private:
  static std::uint32_t priority(std::uint32_t x) noexcept {  // the finalizer of MurmurHash3
    x = (x ^ (x >> 16)) * 0x85ebca6bu;
    x = (x ^ (x >> 13)) * 0xc2b2ae35u;
    return x ^ (x >> 16);
  }
  bool less(std::uint32_t a, std::uint32_t b) const noexcept {
    return table_.length[a] != table_.length[b] ? table_.length[a] < table_.length[b] : a < b;
  }
  std::uint32_t* left(std::uint32_t run) noexcept { return &table_.left[run]; }
  std::uint32_t* right(std::uint32_t run) noexcept { return &table_.right[run]; }

  RunTable& table_;
  std::uint32_t root_ = no_run;
};

}  // namespace regrow::machine
