// SPDX-License-Identifier: Apache-2.0
#include "regrow/machine/placement.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "regrow/machine/granule_pool.h"
#include "regrow/machine/size_class.h"

namespace regrow::machine {
namespace {

constexpr std::uint32_t no_slab = 0xffffffff;

[[noreturn]] void die(const char* what, const Place& place) {
  std::fprintf(stderr, "regrow: placement: %s: %zu bytes at %llu\n", what, place.bytes, static_cast<unsigned long long>(place.offset));
  std::abort();
}

constexpr std::uint64_t granules_of(std::size_t bytes) { return bytes / granule + (bytes % granule != 0 ? 1 : 0); }

struct Slab {
  std::uint32_t start = 0;  // granule
  std::uint32_t size_class = 0;
  std::uint32_t live = 0;
  std::uint32_t words = 0;  // bit w: free[w] is not 0
  std::uint64_t free[granule / 64 / 64] = {};
};

// The slabs of one class that have room.
struct Roomy {
  RunTree tree;                      // by address
  std::uint32_t lowest = no_slab;    // the one that is used next
  std::uint32_t slots = 0;           // free blocks in all of them
};

}  // namespace

struct Placement::State {
  State(std::size_t reserve_bytes, std::size_t most_mappings)
      : pool(static_cast<std::uint32_t>(std::min<std::uint64_t>(reserve_bytes / granule, no_run - 1)), most_mappings),
        roomy(size_classes, Roomy{RunTree(pool.table())}) {}

  Place place_small(std::size_t bytes, std::vector<PageAction>& actions);
  Place place_large(std::size_t bytes, std::vector<PageAction>& actions);
  void release_small(const Place& place, std::uint32_t id) noexcept;
  std::uint32_t open_slab(std::uint32_t size_class, std::vector<PageAction>& actions);
  void close_slab(std::uint32_t id) noexcept;
  void find_lowest(Roomy& which) const noexcept;

  GranulePool pool;
  std::size_t occupied = 0;
  std::vector<Slab> slabs;
  std::vector<std::uint32_t> spare;    // unused entries of slabs
  std::vector<std::uint32_t> slab_at;  // by granule
  std::vector<Roomy> roomy;            // by class
};

// Slabs. As with runs, where a block goes depends on what is placed alone: into the lowest slab with room.

void Placement::State::find_lowest(Roomy& which) const noexcept {
  const std::uint32_t start = which.tree.best_fit(0);
  which.lowest = start != no_run ? slab_at[start] : no_slab;
}

std::uint32_t Placement::State::open_slab(std::uint32_t size_class, std::vector<PageAction>& actions) {
  const SizeClass& c = size_class_table[size_class];
  const std::uint32_t start = pool.take(c.granules, actions);
  if (slab_at.size() < pool.extent()) slab_at.resize(pool.extent(), no_slab);
  if (spare.empty()) {
    spare.push_back(static_cast<std::uint32_t>(slabs.size()));
    slabs.emplace_back();
    spare.reserve(slabs.capacity());
  }
  const std::uint32_t id = spare.back();
  spare.pop_back();
  Slab& slab = slabs[id];
  slab = Slab{};
  slab.start = start;
  slab.size_class = size_class;
  for (std::uint32_t b = 0; b < c.blocks; b += 64) {
    slab.free[b / 64] = ~std::uint64_t{0} >> (64 - std::min(64u, c.blocks - b));
    slab.words |= 1u << b / 64;
  }
  for (std::uint32_t g = 0; g < c.granules; ++g) slab_at[start + g] = id;
  Roomy& mine = roomy[size_class];
  mine.tree.insert(start);
  mine.slots += c.blocks;
  mine.lowest = id;  // there was no other
  return id;
}

// One without blocks.
void Placement::State::close_slab(std::uint32_t id) noexcept {
  const Slab& slab = slabs[id];
  const SizeClass& c = size_class_table[slab.size_class];
  Roomy& mine = roomy[slab.size_class];
  mine.tree.erase(slab.start);
  mine.slots -= c.blocks;
  if (mine.lowest == id) find_lowest(mine);
  for (std::uint32_t g = 0; g < c.granules; ++g) slab_at[slab.start + g] = no_slab;
  pool.give(slab.start);
  spare.push_back(id);
}

Place Placement::State::place_small(std::size_t bytes, std::vector<PageAction>& actions) {
  const std::uint32_t number = size_class(bytes);
  const SizeClass& c = size_class_table[number];
  Roomy& mine = roomy[number];
  const std::uint32_t id = mine.lowest != no_slab ? mine.lowest : open_slab(number, actions);
  Slab& slab = slabs[id];
  const auto word = static_cast<std::uint32_t>(std::countr_zero(slab.words));
  const std::uint32_t block = word * 64 + static_cast<std::uint32_t>(std::countr_zero(slab.free[word]));
  slab.free[word] &= slab.free[word] - 1;
  if (slab.free[word] == 0) slab.words &= slab.words - 1;
  mine.slots -= 1;
  if (++slab.live == c.blocks) {
    mine.tree.erase(slab.start);
    find_lowest(mine);
  }
  occupied += c.bytes;
  return {slab.start * std::uint64_t{granule} + block * std::uint64_t{c.bytes}, c.bytes};
}

void Placement::State::release_small(const Place& place, std::uint32_t id) noexcept {
  Slab& slab = slabs[id];
  const SizeClass& c = size_class_table[slab.size_class];
  Roomy& mine = roomy[slab.size_class];
  const std::uint64_t within = place.offset - slab.start * std::uint64_t{granule};
  const auto block = static_cast<std::uint32_t>(within * c.reciprocal >> 32);
  const std::uint64_t bit = std::uint64_t{1} << block % 64;
  const bool is_block = place.bytes == c.bytes && within == block * std::uint64_t{c.bytes} && block < c.blocks;
  if (!is_block || (slab.free[block / 64] & bit) != 0) die("nothing to release", place);
  slab.free[block / 64] |= bit;
  slab.words |= 1u << block / 64;
  mine.slots += 1;
  occupied -= c.bytes;
  if (slab.live-- == c.blocks) {
    mine.tree.insert(slab.start);
    if (mine.lowest == no_slab || slab.start < slabs[mine.lowest].start) mine.lowest = id;
  } else if (slab.live == 0) {
    close_slab(id);
  }
}

Place Placement::State::place_large(std::size_t bytes, std::vector<PageAction>& actions) {
  const std::uint64_t n = granules_of(bytes);
  if (!pool.allows(n)) throw std::logic_error("placement: a block that does not fit");
  const std::uint32_t start = pool.take(static_cast<std::uint32_t>(n), actions);
  occupied += n * granule;
  return {start * std::uint64_t{granule}, n * granule};
}

// The interface

Placement::Placement(std::size_t reserve_bytes, std::size_t most_mappings)
    : state_(std::make_unique<State>(reserve_bytes, most_mappings)) {}
Placement::~Placement() = default;

void Placement::set_limit(std::size_t bytes) noexcept {
  // A limit below one granule is still a limit: nothing fits.
  state_->pool.set_limit(bytes == 0 ? GranulePool::no_limit : bytes / granule);
}

bool Placement::fits(std::size_t bytes) const noexcept {
  if (bytes == 0) return true;
  if (bytes > largest_small) return state_->pool.allows(granules_of(bytes));
  const std::uint32_t number = size_class(bytes);
  return state_->roomy[number].slots > 0 || state_->pool.allows(size_class_table[number].granules);
}

bool Placement::fits(const std::vector<std::size_t>& sizes) const {
  std::uint32_t slots[size_classes];
  for (std::size_t c = 0; c < size_classes; ++c) slots[c] = state_->roomy[c].slots;
  std::uint64_t added = 0;
  for (const std::size_t bytes : sizes) {
    if (bytes == 0) continue;
    if (bytes > largest_small) {
      added += granules_of(bytes);
    } else if (std::uint32_t& left = slots[size_class(bytes)]; left > 0) {
      left -= 1;
    } else {
      const SizeClass& c = size_class_table[size_class(bytes)];
      added += c.granules;
      left = c.blocks - 1;
    }
  }
  return added == 0 || state_->pool.allows(added);  // of addresses that is more than they take, if these are nearly used up
}

Place Placement::place(std::size_t bytes, std::vector<PageAction>& actions) {
  if (bytes == 0) return {};
  return bytes > largest_small ? state_->place_large(bytes, actions) : state_->place_small(bytes, actions);
}

void Placement::refused(std::span<const PageAction> actions) noexcept { state_->pool.refused(actions); }

void Placement::release(const Place& place) noexcept {
  if (place.bytes == 0) return;
  const std::uint64_t at = place.offset / granule;
  const std::uint32_t id = at < state_->slab_at.size() ? state_->slab_at[at] : no_slab;
  if (id != no_slab) return state_->release_small(place, id);
  const bool is_run = place.offset % granule == 0 && place.bytes % granule == 0;
  if (!is_run || !state_->pool.is_used_run(at, place.bytes / granule)) die("nothing to release", place);
  state_->occupied -= place.bytes;
  state_->pool.give(static_cast<std::uint32_t>(at));
}

bool Placement::shrink(std::size_t bytes, std::vector<PageAction>& actions) {
  state_->pool.shrink(bytes / granule, actions);
  return committed() <= bytes;
}

std::size_t Placement::committed() const noexcept { return state_->pool.committed() * granule; }
std::size_t Placement::occupied() const noexcept { return state_->occupied; }
std::size_t Placement::charged() const noexcept { return state_->pool.used() * granule; }
std::size_t Placement::largest_hole() const noexcept { return state_->pool.longest_free() * granule; }

std::size_t Placement::rounded(std::size_t bytes) noexcept {
  if (bytes == 0) return 0;
  return bytes > largest_small ? granules_of(bytes) * granule : size_class_table[size_class(bytes)].bytes;
}

}  // namespace regrow::machine
