// SPDX-License-Identifier: Apache-2.0
#include "regrow/runtime/device_memory.h"

namespace regrow::runtime {

void DeviceMemory::make(std::uint8_t device) {
  arenas_[device] = std::make_unique<memory::Arena>(reserve_bytes_);
  arenas_[device]->set_limit(limits_[device]);
}

void DeviceMemory::set_limit(std::uint8_t device, std::size_t bytes) {
  limits_[device] = bytes;
  if (arenas_[device]) arenas_[device]->set_limit(bytes);
}

void DeviceMemory::carry_out(std::uint8_t device, const machine::PageAction& action) {
  using Kind = machine::PageAction::Kind;
  memory::Arena& pages = arena(device);
  switch (action.kind) {
    case Kind::commit: return pages.commit(action.offset, action.bytes);
    case Kind::decommit: return pages.decommit(action.offset, action.bytes);
    case Kind::move: return pages.move(action.offset, action.to, action.bytes);
  }
}

}  // namespace regrow::runtime
