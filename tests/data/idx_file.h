// SPDX-License-Identifier: Apache-2.0
// Small IDX files for tests, good and bad. One thread.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/temporary_folder.h"

namespace regrow::data {

inline std::string idx(std::uint8_t type, const std::vector<std::uint32_t>& shape, std::string_view elements) {
  std::string bytes{0, 0, static_cast<char>(type), static_cast<char>(shape.size())};
  for (std::uint32_t size : shape) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift);
  }
  return bytes.append(elements);
}

inline std::string gzipped(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);  // + 16: with gzip's header and checksum
  std::string out(bytes.size() + 1024, '\0');
  std::string in = bytes;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<unsigned>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<unsigned>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace regrow::data
