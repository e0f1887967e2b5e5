// SPDX-License-Identifier: Apache-2.0
#include "regrow/machine/ledger.h"

namespace regrow::machine {

void Ledger::set_budget(std::uint8_t device, std::size_t bytes) noexcept {
  Device& its = *devices_[device];
  its.budget = bytes;
  its.limit = bytes > 0 ? (memory_ > 0 ? std::min(bytes, memory_) : bytes) - its.staging : 0;
  its.placement.set_limit(bytes > 0 ? its.limit : memory_);
  bounded_ = std::any_of(devices_.begin(), devices_.end(), [](const auto& each) { return each->limit > 0; });
  ++relief_;
}

void Ledger::set_staging(std::uint8_t device, std::size_t bytes) noexcept {
  devices_[device]->staging = bytes;
  set_budget(device, devices_[device]->budget);
}

bool Ledger::fits(std::uint8_t device, const std::vector<std::size_t>& sizes) const {
  if (sizes.empty()) return true;
  const Placement& placement = devices_[device]->placement;
  return sizes.size() == 1 ? placement.fits(sizes.front()) : placement.fits(sizes);
}

Place Ledger::place(std::uint8_t device, std::size_t bytes, std::vector<PageAction>& pages) {
  if (bytes == 0) return {};
  Device& its = *devices_[device];
  const Place place = its.placement.place(bytes, pages);
  its.peak = std::max(its.peak, its.placement.occupied());
  its.peak_committed = std::max(its.peak_committed, its.placement.committed());
  return place;
}

void Ledger::release(std::uint8_t device, const Place& place) noexcept {
  if (place.bytes == 0) return;
  devices_[device]->placement.release(place);
  ++relief_;
}

void Ledger::note_workspace(std::uint8_t device, std::size_t bytes) noexcept {
  Device& its = *devices_[device];
  its.workspace = std::max(its.workspace, bytes);
  its.peak_tensors = std::max(its.peak_tensors, its.placement.occupied() - bytes);
}

void Ledger::note_operation(std::uint8_t device, std::size_t bytes) noexcept {
  devices_[device]->operation = std::max(devices_[device]->operation, bytes);
}

void Ledger::reset_peak(std::uint8_t device) noexcept {
  Device& its = *devices_[device];
  its.peak = its.placement.occupied();
  its.peak_committed = its.placement.committed();
  its.peak_tensors = its.placement.occupied();
  its.workspace = its.operation = 0;
}

Usage Ledger::usage(std::uint8_t device) const noexcept {
  const Device& its = *devices_[device];
  return {.budget_bytes = its.budget,
          .live_bytes = its.placement.occupied(),
          .committed_bytes = its.placement.committed() + its.staging,
          .peak_bytes = its.peak + its.staging,
          .peak_tensor_bytes = its.peak_tensors,
          .peak_committed_bytes = its.peak_committed + its.staging,
          .staging_bytes = its.staging,
          .workspace_bytes = its.workspace,
          .operation_bytes = its.operation,
          .largest_hole_bytes = its.placement.largest_hole(),
          .swapped_bytes = its.swapped};
}

}  // namespace regrow::machine
