// SPDX-License-Identifier: Apache-2.0
#include "regrow/machine/granule_pool.h"

#include <algorithm>
#include <stdexcept>

namespace regrow::machine {
namespace {

constexpr std::uint32_t frame = 32;  // granules in a huge page
constexpr std::uint32_t nowhere = no_run;

constexpr std::uint32_t frame_at(std::uint32_t at) { return at / frame * frame; }
constexpr std::uint32_t frame_after(std::uint32_t at) { return frame_at(at + frame - 1); }

constexpr auto shorter = [](const auto& a, const auto& b) { return a.length != b.length ? a.length < b.length : a.start < b.start; };

}  // namespace

// Addresses

// Where `n` granules go: into this gap, or behind the frontier.
std::uint32_t GranulePool::address(std::uint32_t gap, std::uint32_t n) const noexcept {
  const std::uint32_t start = gap != no_run ? gap : frontier_;
  const std::uint32_t spare = (gap != no_run ? table_.length[gap] : capacity_ - frontier_) - n;
  // Huge pages of large runs stay whole when these are moved; the gap that this leaves is for small ones.
  const std::uint32_t pad = frame_after(start) - start;
  return pad <= spare && pad <= n / 16 ? start + pad : start;
}

std::uint32_t GranulePool::occupy(std::uint32_t n) {
  const std::uint32_t gap = gaps_.best_fit(n);
  const std::uint32_t start = address(gap, n), end = start + n;
  std::uint32_t low = gap, high = end;
  if (gap != no_run) {
    high = gap + table_.length[gap];
    gaps_.erase(gap);
  } else {
    grow_tables(end);
    low = frontier_;
    frontier_ = end;
  }
  add_gap(low, start - low);
  add_gap(end, high - end);
  set_length(start, n);
  used_set_.set(start, n, true);
  used_ += n;
  most_used_ = std::max(most_used_, used_);
  return start;
}

void GranulePool::add_gap(std::uint32_t start, std::uint32_t n) noexcept {
  if (n == 0) return;
  set_length(start, n);
  gaps_.insert(start);
}

void GranulePool::give(std::uint32_t start) noexcept {
  std::uint32_t end = start + table_.length[start];
  used_ -= end - start;
  used_set_.set(start, end - start, false);
  if (start > 0 && !used_set_.test(start - 1)) {
    start -= table_.length[start - 1];
    gaps_.erase(start);
  }
  if (end == frontier_) {
    frontier_ = start;
    return;
  }
  if (!used_set_.test(end)) {
    gaps_.erase(end);
    end += table_.length[end];
  }
  add_gap(start, end - start);
}

void GranulePool::grow_tables(std::uint32_t end) {
  if (extent() >= end) return;
  const std::size_t size = std::min<std::size_t>(capacity_, std::max<std::size_t>(frame_after(end), std::size_t{extent()} * 2));
  table_.length.resize(size);
  table_.left.resize(size);
  table_.right.resize(size);
  origin_.resize(size, nowhere);
  used_set_.resize(size);
  committed_set_.resize(size);
}

std::uint32_t GranulePool::take(std::uint32_t n, std::vector<PageAction>& actions) {
  if (!allows(n)) throw std::logic_error("placement: a block that does not fit");
  const std::uint32_t start = occupy(n);
  if (committed_set_.count(start, n) != n) back(start, n, actions);
  return start;
}

std::uint32_t GranulePool::longest_free() const noexcept {
  std::size_t longest = 0;
  each_run_without(committed_set_, used_set_, [&](std::size_t, std::size_t n) { longest = std::max(longest, n); });
  return static_cast<std::uint32_t>(longest);
}

// Pages

// How many may be committed now. The limit is one bound; the other one is what free granules may be in stock: half of what was in
// use at most, and a frame on either side of the run.
std::uint64_t GranulePool::headroom() const noexcept {
  const std::uint64_t most = std::min<std::uint64_t>(limit_, std::uint64_t{used_} + most_used_ / 2 + 2 * frame);
  return most > committed_ ? most - committed_ : 0;
}

// Gives pages to all granules of a run that is in use.
void GranulePool::back(std::uint32_t start, std::uint32_t n, std::vector<PageAction>& actions) {
  lacking_.clear();
  std::uint32_t need = 0;
  for (std::uint32_t at = start; at < start + n; ++at) {
    if (committed_set_.test(at)) continue;
    if (lacking_.empty() || lacking_.back().start + lacking_.back().length != at) lacking_.push_back({at, 0});
    lacking_.back().length += 1;
    need += 1;
  }
  if (need <= headroom()) {
    for (const Run& run : lacking_) commit_frames(run, actions);
    return;
  }
  collect_sources(need);
  for (const Run& run : lacking_) stitch(run, actions);
}

// Commits a run, and what its first and last frames lack: huge pages need whole ones. (The run was counted in headroom(), what it is
// extended by is not.)
void GranulePool::commit_frames(Run lacking, std::vector<PageAction>& actions) {
  std::uint32_t start = lacking.start, end = lacking.start + lacking.length;
  const auto is_void = [&](std::uint32_t at) { return !committed_set_.test(at) && !used_set_.test(at); };
  const std::uint32_t low = frame_at(start), high = std::min(frame_after(end), capacity_);
  while (start > low && is_void(start - 1)) --start;
  while (end < high && is_void(end)) ++end;
  std::uint64_t need = end - start;
  for (const Run& run : lacking_) need += run.start > lacking.start ? run.length : 0;
  if (need > headroom()) start = lacking.start, end = lacking.start + lacking.length;
  grow_tables(end);
  commit(start, end - start, actions);
}

// Free runs, the longest ones that hold `need` granules together, ascending by length.
void GranulePool::collect_sources(std::uint32_t need) {
  sources_.clear();
  each_run_without(committed_set_, used_set_, [&](std::size_t start, std::size_t n) {
    sources_.push_back({static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(n)});
  });
  std::make_heap(sources_.begin(), sources_.end(), shorter);
  auto last = sources_.end();
  for (std::uint64_t sum = 0; sum < need && last != sources_.begin(); --last) {
    std::pop_heap(sources_.begin(), last, shorter);
    sum += (last - 1)->length;
  }
  sources_.erase(sources_.begin(), last);
}

void GranulePool::add_source(Run run) {
  if (run.length == 0) return;
  sources_.insert(std::lower_bound(sources_.begin(), sources_.end(), run, shorter), run);
}

// Takes a piece for [at, at + n), or for the beginning of it: whole frames if there are any and they stay whole, else the
// shortest run that is long enough, else the longest.
GranulePool::Run GranulePool::take_source(std::uint32_t at, std::uint32_t n) {
  auto source = std::prev(sources_.end());
  const std::uint32_t first = frame_after(source->start), last = frame_at(source->start + source->length);
  const bool has_frames = last > first;
  Run piece{source->start, std::min(source->length, n)};
  if (at % frame == 0 && n >= frame && has_frames) {
    piece = {first, std::min(last - first, frame_at(n))};
  } else {
    const std::uint32_t border = frame_after(at + 1);
    const std::uint32_t want = has_frames && border + frame <= at + n ? border - at : n;
    const auto short_of = [&](const Run& run) { return run.length < want; };
    if (const auto found = std::partition_point(sources_.begin(), sources_.end(), short_of); found != sources_.end()) {
      source = found;
      const bool starts_frame = found->start % frame == 0;  // then its end is what is broken already
      piece = {starts_frame ? found->start + found->length - want : found->start, want};
    }
  }
  const Run whole = *source;
  sources_.erase(source);
  add_source({whole.start, piece.start - whole.start});
  add_source({piece.start + piece.length, whole.start + whole.length - piece.start - piece.length});
  return piece;
}

void GranulePool::stitch(Run lacking, std::vector<PageAction>& actions) {
  std::uint32_t at = lacking.start;
  const std::uint32_t end = lacking.start + lacking.length;
  while (at < end && !sources_.empty()) {
    const Run piece = take_source(at, end - at);
    move(piece.start, at, piece.length, actions);
    at += piece.length;
  }
  if (at < end) commit(at, end - at, actions);
}

void GranulePool::shrink(std::uint64_t granules, std::vector<PageAction>& actions) {
  if (committed_ <= granules) return;
  most_used_ = used_;
  collect_sources(static_cast<std::uint32_t>(committed_ - granules));
  while (committed_ > granules && !sources_.empty()) {
    const auto excess = static_cast<std::uint32_t>(committed_ - granules);
    const Run run = sources_.back();
    const std::uint32_t n = std::min(run.length, excess);
    sources_.pop_back();
    decommit(run.start + run.length - n, n, actions);
  }
}

namespace {

void append(std::vector<PageAction>& actions, PageAction::Kind kind, std::uint32_t at, std::uint32_t to, std::uint32_t n) {
  actions.push_back({kind, at * std::uint64_t{granule}, to * std::uint64_t{granule}, n * granule});
}

}  // namespace

void GranulePool::commit(std::uint32_t at, std::uint32_t n, std::vector<PageAction>& actions) {
  append(actions, PageAction::Kind::commit, at, 0, n);
  map(at, n, at);
  committed_set_.set(at, n, true);
  committed_ += n;
}

void GranulePool::decommit(std::uint32_t at, std::uint32_t n, std::vector<PageAction>& actions) {
  append(actions, PageAction::Kind::decommit, at, 0, n);
  set_void(at, n);
}

void GranulePool::move(std::uint32_t from, std::uint32_t to, std::uint32_t n, std::vector<PageAction>& actions) {
  if (seams_ >= most_mappings_) {  // too many pieces: pages of their own make one mapping with their neighbours
    decommit(from, n, actions);
    commit(to, n, actions);
    return;
  }
  append(actions, PageAction::Kind::move, from, to, n);
  for (std::uint32_t g = 0; g < n;) {  // one mapping of the source after the other
    std::uint32_t length = 1;
    while (g + length < n && !seam(from + g + length)) ++length;
    map(to + g, length, origin_[from + g]);
    g += length;
  }
  map(from, n, nowhere);
  committed_set_.set(from, n, false);
  committed_set_.set(to, n, true);
}

// The last one is undone first, so that each finds what it left. Where an undone decommit took pages from is not known any more: they
// count as one mapping, as they were committed.
void GranulePool::refused(std::span<const PageAction> actions) noexcept {
  for (std::size_t i = actions.size(); i-- > 0;) {
    const PageAction& action = actions[i];
    const auto at = static_cast<std::uint32_t>(action.offset / granule), n = static_cast<std::uint32_t>(action.bytes / granule);
    const auto to = static_cast<std::uint32_t>(action.to / granule);
    switch (action.kind) {
      case PageAction::Kind::commit: set_void(at, n); break;
      case PageAction::Kind::decommit:
        if (i == 0) break;  // it has lost its pages all the same
        map(at, n, at);
        committed_set_.set(at, n, true);
        committed_ += n;
        break;
      case PageAction::Kind::move:
        if (i == 0) set_void(to, n);
        else back_to(at, to, n);
        break;
    }
  }
}

void GranulePool::back_to(std::uint32_t from, std::uint32_t to, std::uint32_t n) noexcept {
  for (std::uint32_t g = 0; g < n; ++g) map(from + g, 1, origin_[to + g]);
  map(to, n, nowhere);
  committed_set_.set(from, n, true);
  committed_set_.set(to, n, false);
}

void GranulePool::set_void(std::uint32_t at, std::uint32_t n) noexcept {
  map(at, n, nowhere);
  committed_set_.set(at, n, false);
  committed_ -= n;
}

// Whether a mapping ends before this granule.
bool GranulePool::seam(std::uint32_t at) const noexcept {
  const std::uint32_t before = at > 0 ? origin_[at - 1] : nowhere;
  const std::uint32_t here = at < origin_.size() ? origin_[at] : nowhere;
  return before == nowhere || here == nowhere ? before != here : before + 1 != here;
}

void GranulePool::map(std::uint32_t at, std::uint32_t n, std::uint32_t origin) noexcept {
  for (std::uint32_t g = at; g <= at + n; ++g) seams_ -= seam(g) ? 1 : 0;
  for (std::uint32_t g = 0; g < n; ++g) origin_[at + g] = origin == nowhere ? nowhere : origin + g;
  for (std::uint32_t g = at; g <= at + n; ++g) seams_ += seam(g) ? 1 : 0;
}

}  // namespace regrow::machine
