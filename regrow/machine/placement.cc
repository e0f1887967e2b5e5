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
  std::uint32_t previous = no_slab, next = no_slab;  // in the list of slabs of this class with room
  std::uint32_t words = 0;                           // bit w: free[w] is not 0
  std::uint64_t free[granule / 64 / 64] = {};
};

}  // namespace

struct Placement::State {
  State(std::size_t reserve_bytes, std::size_t most_mappings)
      : pool(static_cast<std::uint32_t>(std::min<std::uint64_t>(reserve_bytes / granule, no_run - 1)), most_mappings) {
    std::fill(std::begin(roomy), std::end(roomy), no_slab);
  }

  std::uint64_t charged() const noexcept { return pool.used() - idle; }
  bool allows(std::uint64_t total) const noexcept { return total <= pool.limit(); }
  bool has_run(std::uint64_t n) const noexcept { return allows(charged() + n) && pool.has_addresses(n); }

  std::uint32_t take(std::uint32_t n, std::vector<PageAction>& actions);
  Place place_small(std::size_t bytes, std::vector<PageAction>& actions);
  Place place_large(std::size_t bytes, std::vector<PageAction>& actions);
  void release_small(const Place& place, std::uint32_t id) noexcept;
  std::uint32_t open_slab(std::uint32_t size_class, std::vector<PageAction>& actions);
  void close_slab(std::uint32_t id) noexcept;
  void close_idle() noexcept;
  void link(std::uint32_t id) noexcept;
  void unlink(std::uint32_t id) noexcept;
  std::uint64_t free_run_around(const Slab& slab) const noexcept;

  GranulePool pool;
  std::size_t occupied = 0;
  std::uint64_t idle = 0;  // granules of empty slabs that are kept: free, but not in the pool
  std::vector<Slab> slabs;
  std::vector<std::uint32_t> spare;    // unused entries of slabs
  std::vector<std::uint32_t> slab_at;  // by granule
  std::uint32_t roomy[size_classes];   // slabs with room; an empty one is kept only if it is the sole one of its class
  std::uint32_t slots[size_classes] = {};  // free blocks in slabs that are not empty
};

// Slabs

void Placement::State::link(std::uint32_t id) noexcept {
  std::uint32_t& head = roomy[slabs[id].size_class];
  slabs[id].previous = no_slab;
  slabs[id].next = head;
  if (head != no_slab) slabs[head].previous = id;
  head = id;
}

void Placement::State::unlink(std::uint32_t id) noexcept {
  const Slab& slab = slabs[id];
  (slab.previous != no_slab ? slabs[slab.previous].next : roomy[slab.size_class]) = slab.next;
  if (slab.next != no_slab) slabs[slab.next].previous = slab.previous;
}

std::uint32_t Placement::State::open_slab(std::uint32_t size_class, std::vector<PageAction>& actions) {
  const SizeClass& c = size_class_table[size_class];
  if (!has_run(c.granules)) throw std::logic_error("placement: a slab that does not fit");
  const std::uint32_t start = take(c.granules, actions);
  if (slab_at.size() < pool.frontier()) slab_at.resize(std::max<std::size_t>(pool.frontier(), slab_at.size() * 2), no_slab);
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
  for (std::uint32_t b = 0; b < c.blocks; ++b) slab.free[b / 64] |= std::uint64_t{1} << b % 64;
  slab.words = (1u << (c.blocks + 63) / 64) - 1;
  for (std::uint32_t g = 0; g < c.granules; ++g) slab_at[start + g] = id;
  idle += c.granules;
  link(id);
  return id;
}

// An empty one.
void Placement::State::close_slab(std::uint32_t id) noexcept {
  const Slab& slab = slabs[id];
  const std::uint32_t n = size_class_table[slab.size_class].granules;
  unlink(id);
  for (std::uint32_t g = 0; g < n; ++g) slab_at[slab.start + g] = no_slab;
  pool.give(slab.start);
  idle -= n;
  spare.push_back(id);
}

void Placement::State::close_idle() noexcept {
  if (idle == 0) return;
  for (const std::uint32_t head : roomy) {
    if (head != no_slab && slabs[head].live == 0) close_slab(head);
  }
}

std::uint32_t Placement::State::take(std::uint32_t n, std::vector<PageAction>& actions) {
  std::uint32_t start = pool.take_free(n);
  if (start == no_run && idle > 0) {
    close_idle();
    start = pool.take_free(n);
  }
  return start != no_run ? start : pool.make(n, actions);
}

Place Placement::State::place_small(std::size_t bytes, std::vector<PageAction>& actions) {
  const std::uint32_t number = size_class(bytes);
  const SizeClass& c = size_class_table[number];
  std::uint32_t id = roomy[number];
  if (id == no_slab) id = open_slab(number, actions);
  Slab& slab = slabs[id];
  if (slab.live == 0) {
    if (!allows(charged() + c.granules)) throw std::logic_error("placement: a slab that does not fit");
    idle -= c.granules;
    slots[number] += c.blocks;
  }
  const auto word = static_cast<std::uint32_t>(std::countr_zero(slab.words));
  const std::uint32_t block = word * 64 + static_cast<std::uint32_t>(std::countr_zero(slab.free[word]));
  slab.free[word] &= slab.free[word] - 1;
  if (slab.free[word] == 0) slab.words &= slab.words - 1;
  slots[number] -= 1;
  if (++slab.live == c.blocks) unlink(id);
  occupied += c.bytes;
  return {slab.start * std::uint64_t{granule} + block * std::uint64_t{c.bytes}, c.bytes};
}

void Placement::State::release_small(const Place& place, std::uint32_t id) noexcept {
  Slab& slab = slabs[id];
  const SizeClass& c = size_class_table[slab.size_class];
  const std::uint64_t within = place.offset - slab.start * std::uint64_t{granule};
  const auto block = static_cast<std::uint32_t>(within * c.reciprocal >> 32);
  const std::uint64_t bit = std::uint64_t{1} << block % 64;
  std::uint64_t& word = slab.free[block / 64];
  if (place.bytes != c.bytes || within != block * std::uint64_t{c.bytes} || (word & bit) != 0) die("nothing to release", place);
  if (word == 0) slab.words |= 1u << block / 64;
  word |= bit;
  occupied -= c.bytes;
  slots[slab.size_class] += 1;
  const std::uint32_t head = roomy[slab.size_class];
  if (slab.live-- == c.blocks) {
    if (head != no_slab && slabs[head].live == 0) close_slab(head);
    link(id);
  } else if (slab.live == 0) {
    slots[slab.size_class] -= c.blocks;
    idle += c.granules;
    if (head != id || slab.next != no_slab) close_slab(id);
  }
}

Place Placement::State::place_large(std::size_t bytes, std::vector<PageAction>& actions) {
  const std::uint64_t n = granules_of(bytes);
  if (!has_run(n)) throw std::logic_error("placement: a block that does not fit");
  const std::uint32_t start = take(static_cast<std::uint32_t>(n), actions);
  occupied += n * granule;
  return {start * std::uint64_t{granule}, n * granule};
}

// The free run that begins, ends or has its middle in this slab, which is empty.
std::uint64_t Placement::State::free_run_around(const Slab& first) const noexcept {
  std::uint32_t low = first.start, high = first.start;
  for (bool grown = true; grown;) {
    grown = false;
    if (const std::uint32_t n = pool.free_until(low); n > 0) low -= n, grown = true;
    if (const std::uint32_t n = pool.free_from(high); n > 0) high += n, grown = true;
    for (const std::uint32_t head : roomy) {
      if (head == no_slab || slabs[head].live > 0) continue;
      const std::uint32_t n = size_class_table[slabs[head].size_class].granules;
      if (slabs[head].start == high) high += n, grown = true;
      if (slabs[head].start + n == low) low -= n, grown = true;
    }
  }
  return high - low;
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
  if (bytes > largest_small) return state_->has_run(granules_of(bytes));
  const std::uint32_t number = size_class(bytes);
  const std::uint32_t n = size_class_table[number].granules;
  if (state_->slots[number] > 0) return true;
  return state_->roomy[number] != no_slab ? state_->allows(state_->charged() + n) : state_->has_run(n);
}

bool Placement::fits(const std::vector<std::size_t>& sizes) const {
  std::uint32_t slots[size_classes];
  std::copy(std::begin(state_->slots), std::end(state_->slots), slots);
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
  return added == 0 || state_->has_run(added);  // of addresses: enough, and more than it takes if they are nearly used up
}

Place Placement::place(std::size_t bytes, std::vector<PageAction>& actions) {
  if (bytes == 0) return {};
  return bytes > largest_small ? state_->place_large(bytes, actions) : state_->place_small(bytes, actions);
}

void Placement::release(const Place& place) noexcept {
  if (place.bytes == 0) return;
  const std::uint64_t at = place.offset / granule;
  const std::uint32_t id = at < state_->slab_at.size() ? state_->slab_at[at] : no_slab;
  if (id != no_slab) return state_->release_small(place, id);
  if (place.offset % granule != 0 || at >= no_run || !state_->pool.is_used_run(static_cast<std::uint32_t>(at), place.bytes / granule)) {
    die("nothing to release", place);
  }
  state_->occupied -= place.bytes;
  state_->pool.give(static_cast<std::uint32_t>(at));
}

bool Placement::shrink(std::size_t bytes, std::vector<PageAction>& actions) {
  state_->close_idle();
  state_->pool.shrink(bytes / granule, actions);
  return committed() <= bytes;
}

std::size_t Placement::committed() const noexcept { return state_->pool.committed() * granule; }
std::size_t Placement::occupied() const noexcept { return state_->occupied; }
std::size_t Placement::charged() const noexcept { return state_->charged() * granule; }

std::size_t Placement::largest_hole() const noexcept {
  std::uint64_t largest = state_->pool.longest_free();
  for (const std::uint32_t head : state_->roomy) {
    if (head != no_slab && state_->slabs[head].live == 0) largest = std::max(largest, state_->free_run_around(state_->slabs[head]));
  }
  return largest * granule;
}

std::size_t Placement::rounded(std::size_t bytes) noexcept {
  if (bytes == 0) return 0;
  return bytes > largest_small ? granules_of(bytes) * granule : size_class_table[size_class(bytes)].bytes;
}

}  // namespace regrow::machine
