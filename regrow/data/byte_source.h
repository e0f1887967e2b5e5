// SPDX-License-Identifier: Apache-2.0
// A file that is read front to back, plain or gzipped (zlib passes plain files through). One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

struct gzFile_s;

namespace regrow::data {

class ByteSource {
 public:
  explicit ByteSource(const std::filesystem::path& path);  // Throws Error naming the file if it cannot be opened
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  const std::string& name() const noexcept { return name_; }
  std::uintmax_t most_bytes() const;  // beyond which the data cannot reach
  // Fewer bytes than wanted only at the end of the data. Throws Error on gzip data that is damaged or ends too early.
  std::size_t read(std::byte* to, std::size_t wanted);

 private:
  std::string name_;
  std::uintmax_t size_ = 0;
  gzFile_s* file_ = nullptr;
};

}  // namespace regrow::data
