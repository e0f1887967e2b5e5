// SPDX-License-Identifier: Apache-2.0
// Equal small constants share one immutable storage: finds the slot that holds a value already. Used under the channel's mutex only.
//
// Equal means the same type, shape, device and bytes (so 0.0 and -0.0 differ, and a NaN equals itself). Bounded: the least recently
// used constant gives way. Every constant lives in a slot that no handle names; the cache holds a reference to it.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <cstdint>
#include <vector>

#include "regrow/runtime/slots.h"

namespace regrow::runtime {

class ConstantCache {
 public:
  static constexpr std::size_t most_bytes = 64;      // of a value
  static constexpr std::size_t most_entries = 1024;

  static bool accepts(const HostArray& value) noexcept { return value.bytes() <= most_bytes; }
  // The slot of an equal constant, now the most recently used; null if there is none.
  Slot* find(const HostArray& value, Device device, SlotTable& slots);
  // Remembers the slot of the value that find() was just asked for. If another one had to give way, returns its slot, whose reference
  // is the caller's to drop; null otherwise.
  Slot* insert(Slot& slot, SlotTable& slots);
  // Slots whose only reference is the cache's.
  void idle(SlotTable& slots, absl::InlinedVector<SlotIndex, 4>& out) const;
  // Forgets everything; calls `drop` with each slot.
  template <class Drop>
  void clear(SlotTable& slots, Drop&& drop) {
    for (const Entry& entry : entries_) drop(slots[entry.slot]);
    entries_.clear();
    index_.clear();
    newest_ = oldest_ = none;
  }

 private:
  static constexpr std::uint32_t none = ~0u;
  struct Key {
    DType dtype = DType::f32;
    std::uint8_t device = 0;
    std::uint8_t rank = 0;
    std::array<std::int64_t, max_rank> shape{};
    std::array<std::byte, most_bytes> bytes{};
    friend bool operator==(const Key&, const Key&) = default;
    template <class H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine_contiguous(H::combine(std::move(h), key.dtype, key.device, key.rank), key.bytes.data(), most_bytes);
    }
  };
  struct Entry {
    Key key;
    SlotIndex slot = 0;
    std::uint32_t newer = none, older = none;
  };

  void unlink(std::uint32_t i) noexcept;
  void make_newest(std::uint32_t i) noexcept;

  std::vector<Entry> entries_;
  absl::flat_hash_map<Key, std::uint32_t> index_;
  std::uint32_t newest_ = none, oldest_ = none;
  Key asked_;
};

}  // namespace regrow::runtime
