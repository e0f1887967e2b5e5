// SPDX-License-Identifier: Apache-2.0
// How much memory the process may have at all. Any thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace regrow::memory {

// Bytes of memory and swap, or less if a control group of this process allows less. Beyond that the kernel would end the process
// when pages are touched, however willingly it gave the addresses.
std::size_t system_memory_bytes();

// The least limit that a control group, or one that it is in, sets below `root` (cgroup v2: memory.max; v1: memory.limit_in_bytes in
// the tree of the memory controller); ~0: none.
std::size_t group_memory_bytes(const std::filesystem::path& root, std::string_view group);

}  // namespace regrow::memory
