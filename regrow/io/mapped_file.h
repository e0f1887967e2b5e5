// SPDX-License-Identifier: Apache-2.0
// A regular file, mapped into memory to be read. Any thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "regrow/base/site.h"

namespace regrow::io {

class MappedFile {
 public:
  // Throws Error naming the file if it cannot be opened or is not a regular file.
  explicit MappedFile(const std::filesystem::path& path, Site site = Site::here());
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace regrow::io
