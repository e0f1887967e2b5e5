// SPDX-License-Identifier: Apache-2.0
// Where storages stand in a device's arena: small ones in slabs of size classes, large ones in runs of granules. Pure bookkeeping:
// it says what to commit, move and decommit, and touches no memory. One thread.
//
// An offset depends on what is placed now alone: not on the limit, nor on what was placed before. So a program that repeats itself
// meets the same offsets, with their pages in place. Free granules are recycled, not returned; where a block lacks pages and no more
// may be committed, it is stitched: pages of free granules are moved there, so that fragmentation never costs an eviction and fits()
// is exact.
//
// Waste: a block of b <= 32 KiB occupies less than b + max(64, b / 4) of its slab, a larger one less than b + 64 KiB. A slab (64 or
// 128 KiB of one size class, see size_class.h) is charged whole while anything is in it. Stock: a commit leaves no more free granules
// than half of what was charged at most, and 4 MiB; beyond that it is stitched from them, limit or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace regrow::machine {

inline constexpr std::size_t granule = std::size_t{64} << 10;

// A block of an arena. A null place (bytes == 0) stands for a storage of no bytes.
struct Place {
  std::uint64_t offset = 0;
  std::size_t bytes = 0;  // as occupied: rounded to its size class, or to granules
  friend bool operator==(const Place&, const Place&) = default;
};

// What the arena has to do, in order.
struct PageAction {
  enum class Kind : std::uint8_t { commit, move, decommit };
  Kind kind;
  std::uint64_t offset = 0;  // of the range
  std::uint64_t to = 0;      // move: where it stands afterwards
  std::size_t bytes = 0;
};

class Placement {
 public:
  // Beyond `most_mappings` runs are made of new pages and not of moved ones, which would be a mapping each.
  explicit Placement(std::size_t reserve_bytes, std::size_t most_mappings = 16'384);
  ~Placement();
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  // Committed bytes may not exceed this; 0: no limit. Only raises or lowers the number: see shrink().
  void set_limit(std::size_t bytes) noexcept;
  // Whether place(bytes) would succeed now: charged() and what it would add to it stay within the limit, and the address space (which
  // should be several times the memory of the machine) has a range that is long enough.
  bool fits(std::size_t bytes) const noexcept;
  // Several at once, in this order.
  bool fits(const std::vector<std::size_t>& sizes) const;
  // Appends what the arena must do first. Requires fits(bytes), else throws std::logic_error. Alignment: 64 bytes; 4096 from one
  // granule on.
  Place place(std::size_t bytes, std::vector<PageAction>& actions);
  // The arena could not carry out the first of these actions, the last ones that were asked for, and has not tried the others: what
  // they would have committed or moved is not counted as backed by pages any more. What was placed there must be released next.
  void refused(std::span<const PageAction> actions) noexcept;
  // Ends the process with a message if nothing stands there: bytes of someone else would be lost.
  void release(const Place& place) noexcept;
  // Gives free granules back until at most `bytes` are committed, or none is free. Returns whether it got there.
  bool shrink(std::size_t bytes, std::vector<PageAction>& actions);

  std::size_t committed() const noexcept;   // granules backed by pages, in bytes
  std::size_t occupied() const noexcept;    // sum of live places: what a ledger of tensors sees
  std::size_t charged() const noexcept;     // granules that hold anything, slabs whole: what cannot be reused by a large block
  std::size_t largest_hole() const noexcept;  // longest run of free committed granules; linear in the arena
  // What `bytes` are rounded to: a size class, or granules.
  static std::size_t rounded(std::size_t bytes) noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace regrow::machine
