// SPDX-License-Identifier: Apache-2.0
// Files of named arrays in the safetensors format: an unsigned 64-bit little-endian length, a JSON header of that many bytes
// (name -> dtype, shape, data_offsets; "__metadata__" -> strings), then the bytes of the arrays, row-major and little-endian. A
// reader may be used by any thread.
//
// A file is accepted only if it is exactly that: header of at most 100,000,000 bytes, every name once, the arrays side by side
// without gap or overlap from the first byte after the header to the last of the file, each as long as its shape says. Everything
// else is an Error that says what is wrong, before memory is taken for any element.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "regrow/frontend/tensor.h"
#include "regrow/io/mapped_file.h"
#include "regrow/io/safetensors_header.h"

namespace regrow::io {

class SafetensorsReader {
 public:
  // Throws Error on what is not such a file.
  explicit SafetensorsReader(const std::filesystem::path& path, Site site = Site::here());

  const std::vector<ArrayEntry>& entries() const noexcept { return header_.entries; }  // in the order of their bytes
  const Metadata& metadata() const noexcept { return header_.metadata; }
  const ArrayEntry* find(std::string_view name) const;  // null if there is none
  HostArray read(const ArrayEntry& entry) const;        // copies

 private:
  MappedFile file_;
  SafetensorsHeader header_;
  std::vector<std::size_t> by_name_;
};

// What an array will be, before its elements are at hand.
struct ArrayPlan {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
};
// Writes atomically; `elements(i)` is asked for array i once, when its turn comes. Throws Error on a name that occurs twice, a
// header that no reader would accept, elements that are not as planned, and whatever the system refuses; the file is then as it
// was.
void write_safetensors(const std::filesystem::path& path, const std::vector<ArrayPlan>& arrays,
                       const std::function<HostArray(std::size_t)>& elements, const Metadata& metadata = {},
                       Site site = Site::here());

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
// Waits for the tensors.
void save_safetensors(const std::filesystem::path& path, const NamedTensors& tensors, const Metadata& metadata = {},
                      Site site = Site::here());
NamedTensors load_safetensors(const std::filesystem::path& path, Device device = {}, Site site = Site::here());
// The strings beside the arrays.
Metadata read_metadata(const std::filesystem::path& path, Site site = Site::here());

}  // namespace regrow::io
