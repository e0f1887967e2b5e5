// SPDX-License-Identifier: Apache-2.0
// The calls of the system by which spilled bytes reach a disk, so that tests can put faults in their place. Each is called by the thread
// that owns the store.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <string>

namespace regrow::memory {

// Opens a file in the directory that has no name there, for reading and writing; -1 and errno if it cannot.
int open_unnamed(const std::string& directory);

// Each behaves as the function of the same name.
struct FileCalls {
  std::function<int(const std::string&)> open = open_unnamed;
  std::function<ssize_t(int, const void*, std::size_t, off_t)> pwrite;  // null: the system's
  std::function<ssize_t(int, void*, std::size_t, off_t)> pread;
};

}  // namespace regrow::memory
