// SPDX-License-Identifier: Apache-2.0
// The header of a safetensors file, read from and written as JSON. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "regrow/tensor/desc.h"

namespace regrow::io {

using Metadata = std::map<std::string, std::string>;

struct ArrayEntry {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::uint64_t begin = 0, end = 0;  // of its bytes, counted from the end of the header
};

struct SafetensorsHeader {
  std::vector<ArrayEntry> entries;  // ordered by where they begin
  Metadata metadata;
  std::size_t bytes = 0;  // of the length and the text
};

// The format's limit on the text; writers keep it as well.
inline constexpr std::size_t most_header_bytes = 100'000'000;

// `file` is all of it. Throws Error beginning with what is wrong; checks everything that the format promises.
SafetensorsHeader parse_header(std::span<const std::byte> file);
// Length and text, padded with spaces to a multiple of 8. The entries' offsets must be set. Throws Error if readers would refuse
// it.
std::string format_header(const SafetensorsHeader& header);

// A name of unknown origin as part of a message: cut short, control characters escaped.
std::string shown(const std::string& name);

}  // namespace regrow::io
