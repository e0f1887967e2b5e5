// SPDX-License-Identifier: Apache-2.0
// Where storages stand in a device's arena: small ones in slabs of size classes, large ones in runs of granules. Pure bookkeeping:
// it says what to commit, move and decommit, and touches no memory. One thread.
//
// Free granules are recycled, not returned; when no free run is long enough, one is stitched from free granules at a fresh address,
// so that fragmentation never costs an eviction: room() is exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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
  explicit Placement(std::size_t reserve_bytes);
  ~Placement();
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  // Committed bytes may not exceed this; 0: no limit. Only raises or lowers the number: see shrink().
  void set_limit(std::size_t bytes) noexcept;
  // Whether place(bytes) would succeed now.
  bool fits(std::size_t bytes) const noexcept;
  // Several at once, in this order.
  bool fits(const std::vector<std::size_t>& sizes) const;
  // Appends what the arena must do first. Requires fits(bytes). Alignment: 64 bytes; 4096 from one granule on.
  Place place(std::size_t bytes, std::vector<PageAction>& actions);
  void release(const Place& place) noexcept;
  // Gives free granules back until at most `bytes` are committed, or none is free. Returns whether it got there.
  bool shrink(std::size_t bytes, std::vector<PageAction>& actions);

  std::size_t committed() const noexcept;   // granules backed by pages, in bytes
  std::size_t occupied() const noexcept;    // sum of live places: what a ledger of tensors sees
  std::size_t charged() const noexcept;     // granules that hold anything, slabs whole: what cannot be reused by a large block
  std::size_t largest_hole() const noexcept;  // longest run of free committed granules
  // The size class or granule count that `bytes` is rounded to, and what `count` of them charge at most.
  static std::size_t rounded(std::size_t bytes) noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace regrow::machine
