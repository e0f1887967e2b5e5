// SPDX-License-Identifier: Apache-2.0
// A channel's arenas, made when a device is first used. Shared with whoever holds a tensor that was handed out, so that its bytes
// outlive the channel. Worker only, but for the destructor.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "regrow/machine/placement.h"
#include "regrow/memory/arena.h"
#include "regrow/tensor/device.h"

namespace regrow::runtime {

class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t reserve_bytes) : reserve_bytes_(reserve_bytes) {}

  memory::Arena& arena(std::uint8_t device) {
    if (!arenas_[device]) [[unlikely]] arenas_[device] = std::make_unique<memory::Arena>(reserve_bytes_);
    return *arenas_[device];
  }
  // Where a block stands; a dummy address for no bytes.
  std::byte* at(std::uint8_t device, const machine::Place& place) {
    return place.bytes == 0 ? nowhere_ : arena(device).at(place.offset);
  }
  void carry_out(std::uint8_t device, const machine::PageAction& action);

 private:
  std::size_t reserve_bytes_;
  std::array<std::unique_ptr<memory::Arena>, max_devices> arenas_;
  alignas(64) std::byte nowhere_[64] = {};
};

}  // namespace regrow::runtime
