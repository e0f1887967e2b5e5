// SPDX-License-Identifier: Apache-2.0
#include "regrow/machine/granule_pool.h"

#include <algorithm>
#include <stdexcept>

namespace regrow::machine {
namespace {

constexpr std::uint32_t frame = 32;               // granules in a huge page
constexpr int looked_at = 8;                      // runs that a window may extend
constexpr std::uint64_t pieces_per_granule = 4;   // moving so many pieces costs what the first touch of a granule costs

constexpr std::uint32_t frame_after(std::uint32_t at) { return (at + frame - 1) / frame * frame; }
constexpr bool wants_frames(std::uint32_t n) { return n >= frame && n % frame == 0; }

}  // namespace

GranulePool::GranulePool(std::uint32_t granules, std::size_t most_mappings) : capacity_(granules), most_mappings_(most_mappings) {}

std::uint32_t GranulePool::headroom() const noexcept {
  return limit_ > committed_ ? static_cast<std::uint32_t>(std::min<std::uint64_t>(limit_ - committed_, capacity_)) : 0;
}

bool GranulePool::has_addresses(std::uint64_t n) const noexcept {
  if (n <= capacity_ - frontier_) return true;
  if (n > capacity_) return false;
  const auto want = static_cast<std::uint32_t>(n);
  return free_.best_fit(want) != no_run || none_.best_fit(want) != no_run || any_window(want).start != no_run;
}

// Runs

void GranulePool::grow_tables(std::uint32_t end) {
  if (kind_.size() >= end) return;
  const std::size_t size = std::min<std::size_t>(capacity_, std::max<std::size_t>(end, std::max<std::size_t>(1024, kind_.size() * 2)));
  kind_.resize(size, Kind::none);
  origin_.resize(size, no_run);
  table_.length.resize(size);
  table_.left.resize(size);
  table_.right.resize(size);
}

void GranulePool::set(std::uint32_t start, std::uint32_t n, Kind kind) noexcept {
  kind_[start] = kind_[start + n - 1] = kind;
  table_.length[start] = table_.length[start + n - 1] = n;
}

void GranulePool::detach(std::uint32_t start) noexcept { (kind_[start] == Kind::free ? free_ : none_).erase(start); }

void GranulePool::attach(std::uint32_t start, std::uint32_t n, Kind kind) noexcept {
  if (const std::uint32_t next = start + n; next < frontier_ && kind_[next] == kind) {
    detach(next);
    n += table_.length[next];
  }
  if (start > 0 && kind_[start - 1] == kind) {
    const std::uint32_t before = table_.length[start - 1];
    start -= before;
    n += before;
    detach(start);
  }
  set(start, n, kind);
  (kind == Kind::free ? free_ : none_).insert(start);
}

void GranulePool::cut(std::uint32_t start, std::uint32_t at, std::uint32_t n) noexcept {
  const Kind kind = kind_[start];
  const std::uint32_t length = table_.length[start];
  RunTree& tree = kind == Kind::free ? free_ : none_;
  detach(start);
  if (at > start) {
    set(start, at - start, kind);
    tree.insert(start);
  }
  if (const std::uint32_t end = start + length; at + n < end) {
    set(at + n, end - at - n, kind);
    tree.insert(at + n);
  }
}

// Nothing void stands right before the frontier.
void GranulePool::trim_frontier() noexcept {
  while (frontier_ > 0 && kind_[frontier_ - 1] == Kind::none) {
    frontier_ -= table_.length[frontier_ - 1];
    detach(frontier_);
  }
}

std::uint32_t GranulePool::take_free(std::uint32_t n) noexcept {
  const std::uint32_t run = free_.best_fit(n);
  if (run == no_run) return no_run;
  const std::uint32_t end = run + table_.length[run];
  std::uint32_t at = run;
  if (wants_frames(n)) {
    if (frame_after(run) + n <= end) at = frame_after(run);
  } else if (run % frame == 0 && end % frame >= n) {
    at = end - n;  // of the frame that is broken already
  }
  cut(run, at, n);
  set(at, n, Kind::used);
  used_ += n;
  most_used_ = std::max(most_used_, used_);
  return at;
}

void GranulePool::give(std::uint32_t start) noexcept {
  const std::uint32_t n = table_.length[start];
  used_ -= n;
  attach(start, n, Kind::free);
}

// Making a run

// The part of [at, at + n) that is free, and the run that `at` lies in, found from a run that begins at or before it.
GranulePool::Window GranulePool::window(std::uint32_t run, std::uint32_t at, std::uint32_t n) const noexcept {
  while (run < frontier_ && run + table_.length[run] <= at) run += table_.length[run];
  Window result{at, run, 0};
  for (; run < frontier_ && run < at + n; run += table_.length[run]) {
    if (kind_[run] != Kind::free) continue;
    result.free += std::min(run + table_.length[run], at + n) - std::max(run, at);
  }
  return result;
}

GranulePool::Window GranulePool::window_around(std::uint32_t run, std::uint32_t n) const noexcept {
  const std::uint32_t at = wants_frames(n) ? frame_after(run) : run;
  std::uint32_t low = run, high = run + table_.length[run];
  while (high < frontier_ && high < at + n && kind_[high] != Kind::used) high += table_.length[high];
  if (high >= frontier_) high = capacity_;
  if (high >= at + n) return window(run, at, n);
  while (low > 0 && high - low < n && kind_[low - 1] != Kind::used) low -= table_.length[low - 1];
  return high - low < n ? Window{} : window(low, high - n, n);
}

GranulePool::Window GranulePool::fresh_window(std::uint32_t n) const noexcept {
  const std::uint32_t run = none_.best_fit(n);
  const std::uint32_t start = run != no_run ? run : frontier_;
  const std::uint32_t end = run != no_run ? run + table_.length[run] : capacity_;
  if (end - start < n) return {};
  const bool framed = wants_frames(n) && frame_after(start) <= end && end - frame_after(start) >= n;
  return {framed ? frame_after(start) : start, start, 0};
}

// The first that there is. Linear.
GranulePool::Window GranulePool::any_window(std::uint32_t n) const noexcept {
  std::uint32_t start = 0;
  for (std::uint32_t run = 0; run < frontier_; run += table_.length[run]) {
    if (kind_[run] == Kind::used) {
      start = run + table_.length[run];
    } else if (run + table_.length[run] - start >= n) {
      return window(start, start, n);
    }
  }
  return capacity_ - start >= n ? window(start, start, n) : Window{};
}

GranulePool::Window GranulePool::choose_window(std::uint32_t n) const noexcept {
  Window best = fresh_window(n);
  const auto consider = [&](const Window& found) {
    if (found.start != no_run && (best.start == no_run || found.free > best.free)) best = found;
  };
  if (const std::uint32_t last = free_until(frontier_); last > 0) consider(window_around(frontier_ - last, n));
  std::uint32_t run = free_.longest();
  for (int i = 0; i < looked_at && run != no_run; ++i, run = free_.before(run)) consider(window_around(run, n));
  return best.start != no_run ? best : any_window(n);
}

// Takes the window into use; what it lacks is in gaps_ then.
void GranulePool::claim(const Window& chosen, std::uint32_t n) {
  const std::uint32_t end = chosen.start + n;
  std::uint32_t run = chosen.run;
  if (end > frontier_) {
    grow_tables(end);
    const std::uint32_t from = frontier_;
    frontier_ = end;
    attach(from, end - from, Kind::none);
  }
  gaps_.clear();
  while (run < end) {
    const std::uint32_t next = run + table_.length[run];
    const std::uint32_t from = std::max(run, chosen.start), until = std::min(next, end);
    if (kind_[run] == Kind::none) gaps_.push_back({from, until - from});
    cut(run, from, until - from);
    run = next;
  }
  set(chosen.start, n, Kind::used);
}

bool GranulePool::should_commit(std::uint32_t need) const noexcept {
  if (need > headroom()) return false;
  if (stock() < need) return true;
  // As with skis: once moving has cost what committing would have, it is time to commit, if the stock stays small.
  return pieces_ >= std::uint64_t{need} * pieces_per_granule && (stock() + need) <= most_used_ / 4;
}

std::uint32_t GranulePool::make(std::uint32_t n, std::vector<PageAction>& actions) {
  const Window chosen = choose_window(n);
  if (chosen.start == no_run) throw std::logic_error("placement: no address space for a block that does not fit");
  claim(chosen, n);
  used_ += chosen.free;  // no stock any more
  const std::uint32_t need = n - chosen.free;
  if (should_commit(need)) {
    for (const Gap& gap : gaps_) commit(gap.start, gap.length, actions);
    pieces_ = 0;
    used_ += need;
    complete_frame(chosen.start + n, actions);
  } else {
    if (need > std::uint64_t{stock()} + headroom()) throw std::logic_error("placement: a block that does not fit");
    for (const Gap& gap : gaps_) stitch(gap.start, gap.length, actions);
    used_ += need;
  }
  most_used_ = std::max(most_used_, used_);
  trim_frontier();
  return chosen.start;
}

// Huge pages need whole frames: the rest of the last one becomes stock.
void GranulePool::complete_frame(std::uint32_t end, std::vector<PageAction>& actions) {
  std::uint32_t until = std::min(frame_after(end), capacity_);
  if (end < frontier_) {
    if (kind_[end] != Kind::none) return;
    until = std::min(until, end + table_.length[end]);
  }
  const std::uint32_t n = std::min(until - end, headroom());
  if (n == 0) return;
  if (end < frontier_) {
    cut(end, end, n);
  } else {
    grow_tables(end + n);
    frontier_ = end + n;
  }
  commit(end, n, actions);
  attach(end, n, Kind::free);
}

// Fills a gap with free granules from elsewhere, whole frames first, and commits what they do not cover. The window is in no tree.
void GranulePool::stitch(std::uint32_t at, std::uint32_t n, std::vector<PageAction>& actions) {
  const std::uint32_t end = at + n;
  while (at < end && !free_.empty()) {
    const std::uint32_t longest = free_.longest();
    const std::uint32_t longest_end = longest + table_.length[longest];
    const std::uint32_t first_frame = frame_after(longest);
    const bool has_frame = first_frame + frame <= longest_end;
    std::uint32_t from = longest, run = longest, piece = std::min(table_.length[longest], end - at);
    if (at % frame == 0 && end - at >= frame && has_frame) {
      from = first_frame;
      piece = std::min(longest_end - first_frame, end - at) / frame * frame;
    } else {
      const std::uint32_t border = frame_after(at + 1);
      const std::uint32_t want = has_frame && border + frame <= end ? border - at : end - at;
      if (const std::uint32_t fitting = free_.best_fit(want); fitting != no_run) {
        run = fitting, piece = want;
        from = run % frame == 0 ? run + table_.length[run] - want : run;
      }
    }
    cut(run, from, piece);
    move(from, at, piece, actions);
    attach(from, piece, Kind::none);
    at += piece;
  }
  if (at < end) commit(at, end - at, actions);
}

// Pages

bool GranulePool::seam(std::uint32_t at) const noexcept {
  const std::uint32_t before = at > 0 ? origin_[at - 1] : no_run;
  const std::uint32_t here = at < origin_.size() ? origin_[at] : no_run;
  return before == no_run || here == no_run ? before != here : before + 1 != here;
}

void GranulePool::remap(std::uint32_t at, std::uint32_t n, std::uint32_t origin) noexcept {
  for (std::uint32_t g = at; g <= at + n; ++g) seams_ -= seam(g) ? 1 : 0;
  for (std::uint32_t g = 0; g < n; ++g) origin_[at + g] = origin == no_run ? no_run : origin + g;
  for (std::uint32_t g = at; g <= at + n; ++g) seams_ += seam(g) ? 1 : 0;
}

namespace {

void append(std::vector<PageAction>& actions, PageAction::Kind kind, std::uint32_t at, std::uint32_t to, std::uint32_t n) {
  actions.push_back({kind, at * std::uint64_t{granule}, to * std::uint64_t{granule}, n * granule});
}

}  // namespace

void GranulePool::commit(std::uint32_t at, std::uint32_t n, std::vector<PageAction>& actions) {
  append(actions, PageAction::Kind::commit, at, 0, n);
  remap(at, n, at);
  committed_ += n;
}

void GranulePool::decommit(std::uint32_t at, std::uint32_t n, std::vector<PageAction>& actions) {
  append(actions, PageAction::Kind::decommit, at, 0, n);
  remap(at, n, no_run);
  committed_ -= n;
}

void GranulePool::move(std::uint32_t from, std::uint32_t to, std::uint32_t n, std::vector<PageAction>& actions) {
  if (seams_ >= most_mappings_) {  // too many pieces: pages of their own make one mapping with their neighbours
    decommit(from, n, actions);
    commit(to, n, actions);
    return;
  }
  append(actions, PageAction::Kind::move, from, to, n);
  pieces_ += 1;
  for (std::uint32_t g = 0; g < n;) {  // one mapping of the source after the other
    std::uint32_t length = 1;
    while (g + length < n && !seam(from + g + length)) ++length;
    remap(to + g, length, origin_[from + g]);
    g += length;
  }
  remap(from, n, no_run);
}

void GranulePool::shrink(std::uint64_t granules, std::vector<PageAction>& actions) {
  while (committed_ > granules && !free_.empty()) {
    const auto excess = static_cast<std::uint32_t>(committed_ - granules);
    std::uint32_t run = free_.best_fit(excess);
    if (run == no_run) run = free_.longest();
    const std::uint32_t n = std::min(table_.length[run], excess);
    const std::uint32_t at = run + table_.length[run] - n;
    cut(run, at, n);
    decommit(at, n, actions);
    attach(at, n, Kind::none);
  }
  trim_frontier();
  most_used_ = used_;
}

}  // namespace regrow::machine
