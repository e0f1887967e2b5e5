// SPDX-License-Identifier: Apache-2.0
// The granules of one arena: which are in use, which are backed by pages, and what the arena must do so that a run of them may be
// used. One thread.
//
// Where a run stands depends on what is in use alone (best fit, lowest address), not on pages or limit: a program that repeats itself
// finds its runs at the same addresses, and their pages already there. Pages that are lacking are committed while the stock of free
// ones is small and the limit allows it, else moved there from free granules elsewhere (a move costs microseconds, the first touch of
// new pages a hundred times that), else both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "regrow/machine/bit_set.h"
#include "regrow/machine/placement.h"
#include "regrow/machine/run_tree.h"

namespace regrow::machine {

class GranulePool {
 public:
  static constexpr std::uint64_t no_limit = ~std::uint64_t{0};

  GranulePool(std::uint32_t granules, std::size_t most_mappings) : capacity_(granules), most_mappings_(most_mappings) {}

  void set_limit(std::uint64_t granules) noexcept { limit_ = granules; }
  std::uint32_t committed() const noexcept { return committed_; }
  std::uint32_t used() const noexcept { return used_; }
  std::uint32_t extent() const noexcept { return static_cast<std::uint32_t>(table_.length.size()); }  // of all tables
  RunTable& table() noexcept { return table_; }  // the links of a run in use are its user's

  bool allows(std::uint64_t n) const noexcept {  // n more granules in use, in one run
    return used_ + n <= limit_ && (n <= capacity_ - frontier_ || n <= gaps_.longest_length());
  }
  // Requires allows(n).
  std::uint32_t take(std::uint32_t n, std::vector<PageAction>& actions);
  // Takes back the run in use that begins here.
  void give(std::uint32_t start) noexcept;
  // See Placement::refused.
  void refused(std::span<const PageAction> actions) noexcept;
  // Decommits free granules until `granules` are committed or none is free.
  void shrink(std::uint64_t granules, std::vector<PageAction>& actions);

  bool is_used_run(std::uint64_t start, std::uint64_t n) const noexcept {
    return start < frontier_ && used_set_.test(start) && table_.length[start] == n;
  }
  std::uint32_t longest_free() const noexcept;  // linear, a bit for each granule

 private:
  struct Run {
    std::uint32_t start, length;
  };

  std::uint32_t address(std::uint32_t gap, std::uint32_t n) const noexcept;
  std::uint32_t occupy(std::uint32_t n);
  void add_gap(std::uint32_t start, std::uint32_t n) noexcept;
  void set_length(std::uint32_t start, std::uint32_t n) noexcept { table_.length[start] = table_.length[start + n - 1] = n; }
  void grow_tables(std::uint32_t end);

  void back(std::uint32_t start, std::uint32_t n, std::vector<PageAction>& actions);
  std::uint64_t headroom() const noexcept;
  void commit_frames(Run lacking, std::vector<PageAction>& actions);
  void collect_sources(std::uint32_t need);
  Run take_source(std::uint32_t at, std::uint32_t n);
  void add_source(Run run);
  void stitch(Run lacking, std::vector<PageAction>& actions);

  void commit(std::uint32_t at, std::uint32_t n, std::vector<PageAction>& actions);
  void move(std::uint32_t from, std::uint32_t to, std::uint32_t n, std::vector<PageAction>& actions);
  void decommit(std::uint32_t at, std::uint32_t n, std::vector<PageAction>& actions);
  void back_to(std::uint32_t from, std::uint32_t to, std::uint32_t n) noexcept;
  void set_void(std::uint32_t at, std::uint32_t n) noexcept;
  void map(std::uint32_t at, std::uint32_t n, std::uint32_t origin) noexcept;
  bool seam(std::uint32_t at) const noexcept;

  std::uint32_t capacity_;
  std::size_t most_mappings_;
  std::uint64_t limit_ = no_limit;
  std::uint32_t frontier_ = 0;  // nothing is in use from here on
  std::uint32_t used_ = 0, most_used_ = 0, committed_ = 0;
  std::size_t seams_ = 0;  // borders between mappings
  BitSet used_set_, committed_set_;
  std::vector<std::uint32_t> origin_;  // where the pages of a granule were committed first; a mapping has consecutive ones
  RunTable table_;
  RunTree gaps_{table_};  // runs that are not in use, before the frontier
  std::vector<Run> lacking_, sources_;
};

}  // namespace regrow::machine
