// SPDX-License-Identifier: Apache-2.0
#include "regrow/memory/system_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace regrow::memory {
namespace {

namespace fs = std::filesystem;

std::size_t from_meminfo(const std::string& name) {
  std::ifstream file("/proc/meminfo");
  std::string word;
  for (std::size_t kib = 0; file >> word;) {
    if (word == name && file >> kib) return kib << 10;
  }
  return 0;
}

TEST(SystemMemory, IsMemoryAndSwapAtMost) {
  EXPECT_GT(system_memory_bytes(), std::size_t{64} << 20);
  EXPECT_LE(system_memory_bytes(), from_meminfo("MemTotal:") + from_meminfo("SwapTotal:"));
}

TEST(SystemMemory, TheTightestGroupOnTheWayToTheRootCounts) {
  const fs::path root = fs::temp_directory_path() / ("regrow-groups-" + std::to_string(getpid()));
  fs::create_directories(root / "a/b/c");
  EXPECT_EQ(group_memory_bytes(root, "/a/b/c"), ~std::size_t{0});
  std::ofstream(root / "a/b/c/memory.max") << "max\n";
  std::ofstream(root / "a/b/memory.max") << "5000000\n";
  std::ofstream(root / "a/memory.max") << "7000000\n";
  EXPECT_EQ(group_memory_bytes(root, "/a/b/c"), 5'000'000u);
  EXPECT_EQ(group_memory_bytes(root, "/a"), 7'000'000u);
  std::ofstream(root / "memory.max") << "3000000\n";
  EXPECT_EQ(group_memory_bytes(root, "/a/b/c"), 3'000'000u);
  EXPECT_EQ(group_memory_bytes(root, "/"), 3'000'000u);
  std::ofstream(root / "a/memory.limit_in_bytes") << "9223372036854771712\n";  // version 1 for "none"
  EXPECT_EQ(group_memory_bytes(root, "/a"), 3'000'000u);
  fs::remove_all(root);
}

}  // namespace
}  // namespace regrow::memory
