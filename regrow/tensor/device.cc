// SPDX-License-Identifier: Apache-2.0
#include "regrow/tensor/device.h"

#include "regrow/base/error.h"

namespace regrow {

Device::Device(std::string_view name) {
  const bool plain = name == "cpu";
  const bool numbered = name.size() == 5 && name.starts_with("cpu:") && name[4] >= '0' && name[4] < '0' + max_devices;
  require(plain || numbered, "no device is named '{}': there are cpu:0 to cpu:{}", name, max_devices - 1);
  index = static_cast<std::uint8_t>(plain ? 0 : name[4] - '0');
}

std::string to_string(Device device) { return "cpu:" + std::to_string(device.index); }

}  // namespace regrow
