// SPDX-License-Identifier: Apache-2.0
// A place in a source file: where a call was written. Any thread.
#pragma once

namespace regrow {

struct Site {
  const char* file = "";
  int line = 0;

  // As a default argument this names the caller's line. (std::source_location does not compile under clang 14.)
  static constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
};

}  // namespace regrow
