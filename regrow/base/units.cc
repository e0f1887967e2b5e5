// SPDX-License-Identifier: Apache-2.0
#include "regrow/base/units.h"

#include <fmt/core.h>

namespace regrow {

std::string format_bytes(std::size_t bytes) {
  if (bytes < KiB(1)) return fmt::format("{} B", bytes);
  const char* const units[] = {"KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1024 && unit < 3) value /= 1024, ++unit;
  return fmt::format("{:.1f} {}", value, units[unit]);
}

}  // namespace regrow
