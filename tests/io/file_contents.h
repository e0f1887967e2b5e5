// SPDX-License-Identifier: Apache-2.0
// What tests of files share. One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/error_message.h"
#include "tests/temporary_folder.h"

namespace regrow::io {

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Little-endian.
inline std::string as_bytes(std::uint64_t value, int count = 8) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

}  // namespace regrow::io
