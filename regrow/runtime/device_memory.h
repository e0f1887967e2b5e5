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
    if (!arenas_[device]) [[unlikely]] make(device);
    return *arenas_[device];
  }
  // Of what may be committed; 0: none. An arena that is made later has it as well.
  void set_limit(std::uint8_t device, std::size_t bytes);
  // Where a block stands; a dummy address for no bytes.
  std::byte* at(std::uint8_t device, const machine::Place& place) {
    return place.bytes == 0 ? nowhere_ : arena(device).at(place.offset);
  }
  // Throws if the system has no memory, or no addresses, to give: then nothing has changed, except that a range that was to be moved
  // has lost its pages.
  void carry_out(std::uint8_t device, const machine::PageAction& action);

 private:
  void make(std::uint8_t device);

  std::size_t reserve_bytes_;
  std::array<std::unique_ptr<memory::Arena>, max_devices> arenas_;
  std::array<std::size_t, max_devices> limits_{};
  alignas(64) std::byte nowhere_[64] = {};
};

}  // namespace regrow::runtime
