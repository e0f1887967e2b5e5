// SPDX-License-Identifier: Apache-2.0
// How a spill file is used, and the calls of the system by which bytes reach it, so that tests can put faults in their place. Any thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <string>

namespace regrow {

// Each behaves as the function of the same name; `open` makes a file without a name in a directory. Null: the system's. They are called by
// the thread that owns the store.
struct FileCalls {
  std::function<int(const std::string& directory)> open;
  std::function<ssize_t(int, const void*, std::size_t, off_t)> pwrite;
  std::function<ssize_t(int, void*, std::size_t, off_t)> pread;
};

struct SpillOptions {
  bool direct = true;  // bypass the page cache where the file system can
  FileCalls calls = {};
};

// Memory that a spill file takes beside its books: it counts against the budget.
inline constexpr std::size_t spill_staging_bytes = std::size_t{256} << 10;

}  // namespace regrow
