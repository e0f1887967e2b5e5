// SPDX-License-Identifier: Apache-2.0
// The account of each device's bytes: what stands where, the budget, and the high-water marks. One thread.
//
// Two measures: a block *occupies* its size as rounded by the placement; it *charges* whole granules, at worst a slab of its own.
// Sums of the first are exact and make peaks; sums of the second bound what a budget must cover, however small blocks share slabs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "regrow/machine/machine.h"
#include "regrow/machine/placement.h"

namespace regrow::machine {

struct Need {
  std::size_t occupied = 0;
  std::size_t charged = 0;
};

inline constexpr std::size_t largest_slab = 2 * granule;

inline Need need_of(std::size_t bytes) noexcept {
  if (bytes == 0) return {};
  const std::size_t occupied = Placement::rounded(bytes);
  return {occupied, occupied < granule ? largest_slab : occupied};
}
inline Need operator+(Need a, Need b) noexcept { return {a.occupied + b.occupied, a.charged + b.charged}; }
inline Need operator-(Need a, Need b) noexcept { return {a.occupied - b.occupied, a.charged - b.charged}; }
inline Need most(Need a, Need b) noexcept { return {std::max(a.occupied, b.occupied), std::max(a.charged, b.charged)}; }

class Ledger {
 public:
  explicit Ledger(const Config& config) : memory_(config.memory_bytes) {
    for (int i = 0; i < config.devices; ++i) {
      devices_.push_back(std::make_unique<Device>(config.reserve_bytes));
      devices_.back()->placement.set_limit(memory_);
    }
  }

  std::uint8_t devices() const noexcept { return static_cast<std::uint8_t>(devices_.size()); }
  Placement& placement(std::uint8_t device) noexcept { return devices_[device]->placement; }
  // Of what is placed: the budget, or the system's memory where that is less, without the staging; 0: there is no budget.
  std::size_t limit(std::uint8_t device) const noexcept { return devices_[device]->limit; }
  std::size_t occupied(std::uint8_t device) const noexcept { return devices_[device]->placement.occupied(); }
  std::size_t charged(std::uint8_t device) const noexcept { return devices_[device]->placement.charged(); }
  bool bounded() const noexcept { return bounded_; }  // any device has a budget
  // A budget less the staging, which is charged to it; 0: none.
  void set_budget(std::uint8_t device, std::size_t bytes) noexcept;
  std::size_t budget(std::uint8_t device) const noexcept { return devices_[device]->budget; }
  void set_staging(std::uint8_t device, std::size_t bytes) noexcept;
  std::size_t staging(std::uint8_t device) const noexcept { return devices_[device]->staging; }

  bool fits(std::uint8_t device, const std::vector<std::size_t>& sizes) const;
  // Requires that it fits. Appends what the arena must do first.
  Place place(std::uint8_t device, std::size_t bytes, std::vector<PageAction>& pages);
  void release(std::uint8_t device, const Place& place) noexcept;
  void note_workspace(std::uint8_t device, std::size_t bytes) noexcept;  // placed, like all else that the operation needs
  void note_operation(std::uint8_t device, std::size_t bytes) noexcept;  // its operands and workspace
  void add_swapped(std::uint8_t device, std::size_t bytes) noexcept { devices_[device]->swapped += bytes; }
  void remove_swapped(std::uint8_t device, std::size_t bytes) noexcept { devices_[device]->swapped -= bytes; }
  std::size_t swapped(std::uint8_t device) const noexcept { return devices_[device]->swapped; }
  // Counts releases and changes of budgets: what did not fit may fit when this has changed.
  std::uint64_t relief() const noexcept { return relief_; }

  void reset_peak(std::uint8_t device) noexcept;
  Usage usage(std::uint8_t device) const noexcept;

 private:
  struct Device {
    explicit Device(std::size_t reserve_bytes) : placement(reserve_bytes) {}
    Placement placement;
    std::size_t budget = 0, staging = 0, limit = 0;
    std::size_t peak = 0, peak_tensors = 0, peak_committed = 0, workspace = 0, operation = 0, swapped = 0;
  };
  std::size_t memory_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::uint64_t relief_ = 0;
  bool bounded_ = false;
};

}  // namespace regrow::machine
