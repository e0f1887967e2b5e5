// SPDX-License-Identifier: Apache-2.0
// The granules of one arena as runs in address order, each in use, free (committed) or void (address space only). It finds, makes and
// takes back runs, and says what the arena must do for that. One thread.
//
// No run that is free is long enough: then the run is made, in the part of the address space that is not in use and has most free
// granules already. What it lacks is moved there from other free runs if these hold enough (a move costs microseconds, the first
// touch of new pages a hundred times that), else committed, else both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "regrow/machine/placement.h"
#include "regrow/machine/run_tree.h"

namespace regrow::machine {

class GranulePool {
 public:
  GranulePool(std::uint32_t granules, std::size_t most_mappings);

  static constexpr std::uint64_t no_limit = ~std::uint64_t{0};
  void set_limit(std::uint64_t granules) noexcept { limit_ = granules; }
  std::uint64_t limit() const noexcept { return limit_; }
  std::uint32_t committed() const noexcept { return committed_; }
  std::uint32_t used() const noexcept { return used_; }
  std::uint32_t frontier() const noexcept { return frontier_; }  // nothing was ever placed from here on
  std::uint32_t longest_free() const noexcept { return free_.longest_length(); }
  std::size_t mappings() const noexcept { return seams_; }
  // Whether the address space has a run of `n` that is not in use.
  bool has_addresses(std::uint64_t n) const noexcept;

  // A free run, or no_run.
  std::uint32_t take_free(std::uint32_t n) noexcept;
  // Makes a run where take_free found none. Requires used() + n <= limit() and has_addresses(n).
  std::uint32_t make(std::uint32_t n, std::vector<PageAction>& actions);
  // Takes back the run in use that begins here; its neighbours that are free become one with it.
  void give(std::uint32_t start) noexcept;
  // Decommits free granules until `granules` are committed or none is free.
  void shrink(std::uint64_t granules, std::vector<PageAction>& actions);

  bool is_used_run(std::uint32_t start, std::uint64_t n) const noexcept {
    return start < frontier_ && kind_[start] == Kind::used && table_.length[start] == n;
  }
  // Length of the free run that begins, or ends, next to here; 0: the neighbour is not free.
  std::uint32_t free_from(std::uint32_t start) const noexcept {
    return start < frontier_ && kind_[start] == Kind::free ? table_.length[start] : 0;
  }
  std::uint32_t free_until(std::uint32_t end) const noexcept {
    return end > 0 && kind_[end - 1] == Kind::free ? table_.length[end - 1] : 0;
  }
  std::uint32_t length(std::uint32_t start) const noexcept { return table_.length[start]; }

 private:
  enum class Kind : std::uint8_t { used, free, none };
  struct Window {
    std::uint32_t start = no_run;
    std::uint32_t run = no_run;  // that `start` lies in
    std::uint32_t free = 0;      // granules in it that are free
  };

  std::uint32_t stock() const noexcept { return committed_ - used_; }
  std::uint32_t headroom() const noexcept;
  void grow_tables(std::uint32_t end);
  void set(std::uint32_t start, std::uint32_t n, Kind kind) noexcept;
  void attach(std::uint32_t start, std::uint32_t n, Kind kind) noexcept;  // not in use; joins its neighbours of the same kind
  void detach(std::uint32_t start) noexcept;                              // out of its tree
  void cut(std::uint32_t start, std::uint32_t at, std::uint32_t n) noexcept;  // detaches [at, at + n) of a run, the rest stays
  void trim_frontier() noexcept;

  Window choose_window(std::uint32_t n) const noexcept;
  Window window_around(std::uint32_t run, std::uint32_t n) const noexcept;
  Window fresh_window(std::uint32_t n) const noexcept;
  Window any_window(std::uint32_t n) const noexcept;
  Window window(std::uint32_t run, std::uint32_t at, std::uint32_t n) const noexcept;

  void claim(const Window& chosen, std::uint32_t n);
  bool should_commit(std::uint32_t need) const noexcept;
  void stitch(std::uint32_t at, std::uint32_t n, std::vector<PageAction>& actions);
  void complete_frame(std::uint32_t end, std::vector<PageAction>& actions);

  void commit(std::uint32_t at, std::uint32_t n, std::vector<PageAction>& actions);
  void move(std::uint32_t from, std::uint32_t to, std::uint32_t n, std::vector<PageAction>& actions);
  void decommit(std::uint32_t at, std::uint32_t n, std::vector<PageAction>& actions);
  void remap(std::uint32_t at, std::uint32_t n, std::uint32_t origin) noexcept;
  bool seam(std::uint32_t at) const noexcept;

  struct Gap {
    std::uint32_t start, length;
  };

  std::uint32_t capacity_;
  std::size_t most_mappings_;
  std::uint64_t limit_ = no_limit;
  std::uint32_t frontier_ = 0, committed_ = 0, used_ = 0, most_used_ = 0;
  std::size_t seams_ = 0;     // borders between mappings
  std::uint64_t pieces_ = 0;  // moved since moving was last found dearer than committing
  std::vector<Kind> kind_;             // valid where a run begins or ends
  std::vector<std::uint32_t> origin_;  // where the pages of a granule were committed; no_run: none. A mapping has consecutive ones.
  RunTable table_;
  RunTree free_{table_}, none_{table_};
  std::vector<Gap> gaps_;
};

}  // namespace regrow::machine
