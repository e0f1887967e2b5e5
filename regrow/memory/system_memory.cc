// SPDX-License-Identifier: Apache-2.0
#include "regrow/memory/system_memory.h"

#include <sys/sysinfo.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace regrow::memory {

std::size_t group_memory_bytes(const std::filesystem::path& root, std::string_view group) {
  std::size_t least = ~std::size_t{0};
  while (!group.empty() && group.front() == '/') group.remove_prefix(1);
  for (std::filesystem::path folder = group;; folder = folder.parent_path()) {
    for (const char* name : {"memory.max", "memory.limit_in_bytes"}) {
      std::size_t bytes = 0;
      if (std::ifstream(root / folder / name) >> bytes && bytes > 0) least = std::min(least, bytes);  // "max" is no number
    }
    if (folder.empty()) return least;
  }
}

std::size_t system_memory_bytes() {
  std::size_t bytes = ~std::size_t{0};
  struct sysinfo info {};
  if (sysinfo(&info) == 0) bytes = (std::size_t{info.totalram} + info.totalswap) * info.mem_unit;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/path", or in version 1 "7:memory:/path"
    const std::size_t first = line.find(':'), second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (controllers.empty()) bytes = std::min(bytes, group_memory_bytes("/sys/fs/cgroup", group));
    if (controllers == "memory") bytes = std::min(bytes, group_memory_bytes("/sys/fs/cgroup/memory", group));
  }
  return bytes;
}

}  // namespace regrow::memory
