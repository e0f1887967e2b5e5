// SPDX-License-Identifier: Apache-2.0
#include "regrow/runtime/device_memory.h"

namespace regrow::runtime {

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
