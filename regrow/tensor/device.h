// SPDX-License-Identifier: Apache-2.0
// Which device a tensor lives on: cpu:0, cpu:1, … are arenas with budgets of their own. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace regrow {

inline constexpr int max_devices = 8;

struct Device {
  std::uint8_t index = 0;

  constexpr Device() = default;
  explicit constexpr Device(int i) : index(static_cast<std::uint8_t>(i)) {}
  // "cpu" or "cpu:N" with N < max_devices; throws Error otherwise.
  explicit Device(std::string_view name);
  explicit Device(const char* name) : Device(std::string_view(name)) {}
  friend constexpr bool operator==(Device, Device) = default;
};

std::string to_string(Device device);  // "cpu:0"

}  // namespace regrow
