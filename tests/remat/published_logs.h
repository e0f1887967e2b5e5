// SPDX-License-Identifier: Apache-2.0
// Where the published logs are, if anywhere: they are no part of this repository.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "regrow/remat/trace_file.h"

namespace regrow::remat {

// REGROW_TRACES names a folder with NAME.trace; without it, or without the file, the test is skipped.
inline bool find_log(const std::string& name, Trace& trace) {
  const char* folder = std::getenv("REGROW_TRACES");
  if (folder == nullptr) return false;
  trace = read_trace(std::string(folder) + "/" + name + ".trace");
  return true;
}

}  // namespace regrow::remat
