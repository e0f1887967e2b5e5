// SPDX-License-Identifier: Apache-2.0
#include "regrow/runtime/constant_cache.h"

#include <cstring>

namespace regrow::runtime {

Slot* ConstantCache::find(const HostArray& value, Device device, SlotTable& slots) {
  asked_ = Key{};
  asked_.dtype = value.dtype();
  asked_.device = device.index;
  asked_.rank = static_cast<std::uint8_t>(value.shape().size());
  std::copy(value.shape().begin(), value.shape().end(), asked_.shape.begin());
  if (value.bytes() != 0) std::memcpy(asked_.bytes.data(), value.data(), value.bytes());
  const auto found = index_.find(asked_);
  if (found == index_.end()) return nullptr;
  if (found->second != newest_) unlink(found->second), make_newest(found->second);
  return &slots[entries_[found->second].slot];
}

Slot* ConstantCache::insert(Slot& slot, SlotTable& slots) {
  Slot* gave_way = nullptr;
  std::uint32_t i = static_cast<std::uint32_t>(entries_.size());
  if (i < most_entries) {
    entries_.emplace_back();
  } else {
    i = oldest_;
    gave_way = &slots[entries_[i].slot];
    unlink(i);
    index_.erase(entries_[i].key);
  }
  entries_[i].key = asked_;
  entries_[i].slot = slot.index;
  index_.emplace(asked_, i);
  make_newest(i);
  return gave_way;
}

void ConstantCache::idle(SlotTable& slots, absl::InlinedVector<SlotIndex, 4>& out) const {
  for (const Entry& entry : entries_)
    if (slots[entry.slot].references == 1) out.push_back(entry.slot);
}

void ConstantCache::unlink(std::uint32_t i) noexcept {
  Entry& entry = entries_[i];
  (entry.newer == none ? newest_ : entries_[entry.newer].older) = entry.older;
  (entry.older == none ? oldest_ : entries_[entry.older].newer) = entry.newer;
}

void ConstantCache::make_newest(std::uint32_t i) noexcept {
  entries_[i].older = newest_;
  entries_[i].newer = none;
  (newest_ == none ? oldest_ : entries_[newest_].newer) = i;
  newest_ = i;
}

}  // namespace regrow::runtime
