// SPDX-License-Identifier: Apache-2.0
#include "regrow/runtime/slots.h"

namespace regrow::runtime {

void SlotTable::stale(Handle handle, Site site) {
  if (!handle) fail_at(site, "the handle names no tensor");
  fail_at(site, "the handle {}.{} is stale: its tensor was deleted", handle.slot, handle.generation);
}

Slot& SlotTable::take() {
  ++in_use_;
  if (idle_count_ > least_idle) {
    const SlotIndex index = idle_[idle_head_];
    idle_head_ = (idle_head_ + 1) & (idle_.size() - 1);
    --idle_count_;
    return (*this)[index];
  }
  if (size_ == chunks_.size() << chunk_bits) chunks_.emplace_back(new Slot[std::size_t{1} << chunk_bits]);
  // The ring holds every slot there is, so that freeing never allocates.
  if (size_ == idle_.size()) {
    std::vector<SlotIndex> larger(std::max<std::size_t>(idle_.size() * 2, 512));
    for (std::size_t i = 0; i < idle_count_; ++i) larger[i] = idle_[(idle_head_ + i) & (idle_.size() - 1)];
    idle_ = std::move(larger);
    idle_head_ = 0;
  }
  Slot& slot = (*this)[static_cast<SlotIndex>(size_)];
  slot.index = static_cast<SlotIndex>(size_++);
  return slot;
}

Slot& SlotTable::create() {
  Slot& slot = take();
  slot.target = slot.index;
  slot.references = 1;
  slot.in_use = true;
  slot.tensor = ++tensors_;
  return slot;
}

Slot& SlotTable::create_alias(Slot& target) {
  Slot& slot = take();
  slot.target = target.index;
  slot.references = 0;
  slot.in_use = true;
  ++target.references;
  return slot;
}

Slot* SlotTable::remove_handle(Slot& handle) noexcept {
  Slot& target = (*this)[handle.target];
  if (&target != &handle) free(handle);
  else ++handle.generation, handle.generation += handle.generation == 0;  // stale at once, even if the cache keeps the tensor
  return --target.references == 0 ? &target : nullptr;
}

void SlotTable::free(Slot& slot) noexcept {
  ++slot.generation;
  slot.generation += slot.generation == 0;
  slot.in_use = slot.on_worker = false;
  if (slot.has_host) slot.host = HostArray(), slot.has_host = false;
  slot.last_command = nullptr;
  slot.last_use = 0;
  --in_use_;
  idle_[(idle_head_ + idle_count_++) & (idle_.size() - 1)] = slot.index;
}

}  // namespace regrow::runtime
